"""The inside of a guarded run of pytest: a plugin that forks before anything of the workspace has been loaded.

It is never imported here: the text of this room's modules is put together under a name that nobody knows beforehand,
and goes into the sandbox, where the project's own pytest loads it first. The parent becomes the controller. The child
goes on as pytest, tells the controller of each test as it ends, and runs canaries among the project's tests.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from orchestrator.judge.behaviour.call_recorder import CallRecorder
from orchestrator.judge.behaviour.comparison_probe import ComparisonProbe
from orchestrator.judge.guard.canary_tests import CANARIES, CanaryPlanter
from orchestrator.judge.guard.controller import control_worker, find_order
from orchestrator.judge.guard.integrity import CandidateFiles, FunctionWatch

_CHECK_SHARE = 0.03
"""The share of a run's time that looks at functions between its modules may take."""

_LAST_EXCEPTION = ("last_type", "last_value", "last_traceback", "last_exc")


class Guard:
    """The guard as the worker process knows it."""

    def __init__(self, plugin: str, root: str, names: dict[str, str], known: list[str], sink: int) -> None:
        self.plugin = plugin
        self.known = set(known)
        self.names = names
        self.sink = sink
        self.pid = os.getpid()
        self.workspace = CandidateFiles(root)
        self.probe = ComparisonProbe(root)
        self.probe.watch_assertions(plugin)
        self.recorder = CallRecorder(root, [])
        self.watch = FunctionWatch(self.workspace, plugin)
        self.planter: CanaryPlanter | None = None
        self.registered: dict[str, str] = {}
        self.report_path = ""
        self.begun = time.monotonic()
        self.spent = 0.0
        self.canaries: list[tuple[str, str]] = []

    def send_message(self, *parts: object) -> None:
        """Tell the controller something; in a worker of xdist, and in a child of a test, there is none."""
        if self.sink < 0 or os.getpid() != self.pid:
            return
        line = json.dumps(parts, separators=(",", ":")).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self.sink, line) :]
        except OSError:
            self.sink = -1

    def is_known(self, plugin: object) -> bool:
        """Return True for plugins that the base has as well, ours, and those from elsewhere."""
        name, path = describe_plugin(self, plugin)
        return not self.known or not path or name in self.known

    def add_canaries(self, done: list[tuple[str, str]]) -> None:
        """Hand over how canaries ended."""
        self.canaries += done
        for name, outcome in done:
            self.send_message("canary", name, outcome)

    def look_between_modules(self) -> None:
        """Look for replaced functions, as far as that takes no more than its share of the time."""
        now = time.monotonic()
        if self.spent > _CHECK_SHARE * (now - self.begun):
            return
        self.watch.add_modules()
        self.watch.check_functions(is_last=False)
        self.spent += time.monotonic() - now

    def build_scan(self) -> dict[str, Any]:
        """Return what a look at all that is loaded shows at the end."""
        self.watch.add_modules()
        self.watch.check_functions(is_last=True)
        self.recorder.is_active = False
        own, others = self.watch.list_modules()
        plugins = sorted([name, path] for name, path in self.registered.items())
        return {
            "modules": own,
            "others": others,
            "plugins": plugins,
            "replaced": list(self.watch.found.values()),
            "lenient": list(self.probe.found.values()),
            "calls": self.recorder.calls,
            "python": [sys.executable],
        }


_GUARD: Guard | None = None
_MARK = "guard"
_CANARIES_OF_XDIST = "canaries"


def show_comparison(left: object, sign: str, right: object) -> None:
    """Probe a comparison of a test that is about to be made; rewritten assertions call this."""
    if _GUARD is not None:
        _GUARD.probe.show_comparison(left, sign, right)


def record_calls(modules: list[str]) -> None:
    """Record calls of the functions in modules of the workspace, by their paths, from now on."""
    if _GUARD is not None and modules:
        _GUARD.recorder = CallRecorder(_GUARD.workspace.root, modules)
        _GUARD.recorder.install_finder()


def begin_guard(plugin: str, names: dict[str, str], known: list[str]) -> None:
    """Fork, unless this process has no order or is a worker of xdist.

    `names` maps drawn names to canaries, `known` are the plugins that the base has; empty if nobody knows yet.
    """
    global _GUARD  # noqa: PLW0603
    if "PYTEST_XDIST_WORKER" in os.environ:
        _restore_environment(plugin)
        _GUARD = Guard(plugin, os.path.realpath(os.environ.pop(f"{plugin}_root", ".")), names, known, -1)
        return
    order = find_order(plugin)
    if order is None:
        return
    order.read_paths()
    source, sink = os.pipe()
    is_ready, ready = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        worker = os.fork()
    if worker:
        os.close(sink)
        os.close(is_ready)
        wanted = {name: CANARIES[function] for name, function in names.items()}
        control_worker(order, worker, source, ready, wanted)
    for descriptor in (source, ready):
        os.close(descriptor)
    order.close_descriptors()
    os.read(is_ready, 1)
    os.close(is_ready)
    root = order.root
    report_path = _restore_environment(plugin)
    _GUARD = Guard(plugin, root, names, known, sink)
    _GUARD.report_path = report_path


def _restore_environment(plugin: str) -> str:
    """Take out of the environment what loaded this plugin, and the path of the report; return that path."""
    folder = os.path.dirname(os.path.abspath(sys.modules[plugin].__file__ or ""))  # noqa: PTH100, PTH120
    options = os.environ.get("PYTEST_ADDOPTS", "")
    found = re.search(rf" ?-p {plugin}(?: --junitxml=(\S+))?", options)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    _set_variable("PYTEST_ADDOPTS", options.replace(found[0], "").strip() if found else options)
    _set_variable("PYTHONPATH", os.pathsep.join(path for path in paths if path != folder))
    report_path = (found[1] if found else "") or ""
    for name in [name for name, value in os.environ.items() if value and value == report_path]:
        _set_variable(name, "")
    return report_path


def _set_variable(name: str, value: str) -> None:
    if value:
        os.environ[name] = value
    else:
        os.environ.pop(name, None)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let pytest write no report of its own where ours is asked for."""
    guard = _GUARD
    if guard is None or guard.sink < 0:
        return
    if guard.report_path and getattr(config.option, "xmlpath", None) == guard.report_path:
        config.option.xmlpath = config.known_args_namespace.xmlpath = None
    for _, plugin in config.pluginmanager.list_name_plugin():
        _note_plugin(guard, plugin)


@pytest.hookimpl
def pytest_plugin_registered(plugin: object) -> None:
    """Note each plugin that was ever in force."""
    if _GUARD is not None:
        _note_plugin(_GUARD, plugin)


def _note_plugin(guard: Guard, plugin: object) -> None:
    if plugin is not None and getattr(plugin, "__name__", "") != guard.plugin:
        name, path = describe_plugin(guard, plugin)
        guard.registered[name] = path


def describe_plugin(guard: Guard, plugin: object) -> tuple[str, str]:
    """Return a name of a plugin that is the same in each run, and its path if it lies in the workspace."""
    file = getattr(plugin, "__file__", None)
    if file:
        path = guard.workspace.find_path(file)
        return path or str(getattr(plugin, "__name__", "")), path
    module = sys.modules.get(type(plugin).__module__)
    path = guard.workspace.find_path(getattr(module, "__file__", None))
    return f"{type(plugin).__module__}.{type(plugin).__qualname__}", path


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> Iterator[None]:
    """Let workers of xdist load this plugin as well."""
    guard = _GUARD
    before = {name: os.environ.get(name, "") for name in ("PYTEST_ADDOPTS", "PYTHONPATH")}
    is_parent = guard is not None and session.config.pluginmanager.has_plugin("dsession")
    if guard is not None and is_parent:
        folder = os.path.dirname(os.path.abspath(sys.modules[guard.plugin].__file__ or ""))  # noqa: PTH100, PTH120
        os.environ["PYTEST_ADDOPTS"] = f"{before['PYTEST_ADDOPTS']} -p {guard.plugin}"
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, before["PYTHONPATH"])))
        os.environ[f"{guard.plugin}_root"] = guard.workspace.root
    yield
    if guard is not None and is_parent:
        for name, value in before.items():
            _set_variable(name, value)
        os.environ.pop(f"{guard.plugin}_root", None)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Take note of what collecting has loaded, and draw where canaries run."""
    guard = _GUARD
    if guard is None:
        return
    guard.look_between_modules()
    guard.recorder.is_active = True
    if session.items and guard.names and not session.config.getoption("collectonly", False):
        guard.planter = CanaryPlanter(session, guard.names, random.Random(os.urandom(16)), guard.is_known)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Run canaries before the first test and between modules, and look at functions there."""
    guard = _GUARD
    planter = guard.planter if guard is not None and os.getpid() == guard.pid else None
    if guard is not None and planter is not None and not guard.canaries:
        _plant(guard, lambda: planter.run_before(item))
    yield
    if guard is None or os.getpid() != guard.pid or (nextitem is not None and nextitem.path == item.path):
        return
    guard.look_between_modules()
    if planter is not None and not (item.session.shouldfail or item.session.shouldstop):
        _plant(guard, lambda: planter.run_after(item, nextitem))


def _plant(guard: Guard, run: Callable[[], list[tuple[str, str]]]) -> None:
    """Run canaries; what Python remembers of the last exception stays that of the project's tests."""
    names: dict[str, Any] = vars(sys)
    before = {name: names[name] for name in _LAST_EXCEPTION if name in names}
    try:
        guard.add_canaries(run())
    except Exception as error:  # noqa: BLE001 -- the project's tests go on
        guard.send_message("problem", f"no canary could be run ({type(error).__name__}: {error})")
        guard.planter = None
    for name in _LAST_EXCEPTION:
        names.pop(name, None)
    names.update(before)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid: str) -> None:
    """Tell the controller which test begins."""
    if _GUARD is not None:
        _GUARD.send_message("run", nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Tell the controller how a phase of a test ended."""
    guard = _GUARD
    if guard is None or guard.sink < 0:
        return
    worker = str(getattr(report, "worker_id", ""))
    is_expected = hasattr(report, "wasxfail")
    guard.send_message("report", _build_id(report.nodeid), report.when, report.outcome, is_expected, worker)


@pytest.hookimpl(tryfirst=True)
def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Tell the controller what could not be collected."""
    guard = _GUARD
    if guard is not None and not report.passed:
        guard.send_message("collect", _build_id(report.nodeid, is_collection=True), report.outcome)


def pytest_internalerror() -> None:
    """Tell the controller of an error of pytest itself."""
    if _GUARD is not None:
        _GUARD.send_message("collect", "pytest::internal", "failed")


def _build_id(node: str, is_collection: bool = False) -> str:
    """Return the id that the JUnit report of pytest gives a test, as the harness reads it."""
    from _pytest.junitxml import bin_xml_escape, mangle_test_address

    names = mangle_test_address(node)
    folders = ".".join([*filter(None, [_get_prefix()]), *names[:-1]]).strip()
    name = str(bin_xml_escape(names[-1])).strip()
    if is_collection and not folders:
        return f"(collection) {name}"
    return "::".join(filter(None, (folders, name))) or "(unnamed test)"


_PREFIX: list[str] = []


def _get_prefix() -> str:
    return _PREFIX[0] if _PREFIX else ""


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object, error: object) -> None:
    """Take over what a worker of xdist saw."""
    guard = _GUARD
    if guard is None:
        return
    output = getattr(node, "workeroutput", None) or {}
    for name, outcome in output.get(_CANARIES_OF_XDIST + guard.plugin, ()):
        guard.send_message("canary", name, outcome)
    scan = output.get(_MARK + guard.plugin)
    if scan:
        guard.send_message("scan", json.loads(scan))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand a scan over to the process that started this worker of xdist."""
    guard = _GUARD
    if guard is not None and hasattr(session.config, "workeroutput"):
        session.config.workeroutput[_CANARIES_OF_XDIST + guard.plugin] = [list(one) for one in guard.canaries]
        session.config.workeroutput[_MARK + guard.plugin] = json.dumps(guard.build_scan())


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Hand over the end: only a worker that came so far has said all."""
    guard = _GUARD
    if guard is None or guard.sink < 0 or os.getpid() != guard.pid:
        return
    guard.send_message("scan", guard.build_scan())
    guard.send_message("end")


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, None]:
    """Tell the controller the exit status that pytest itself gives the session."""
    if config.option.junitprefix:
        _PREFIX.append(config.option.junitprefix)
    outcome = yield
    if _GUARD is not None and outcome.excinfo is None:
        status = outcome.get_result()
        _GUARD.send_message("finish", int(status) if isinstance(status, int) else 0)
