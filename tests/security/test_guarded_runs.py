"""Runs of pytest under the guard: attacks by what a test calls, and honest tests that come out as without a guard."""

import base64
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from orchestrator.domain.judging.check import CheckSpec, TestOutcome
from orchestrator.judge.gate.check_command import GUARD_VARIABLE, REPORT_VARIABLE, build_check_command
from orchestrator.judge.guard.injection import build_guard_injection
from orchestrator.judge.guard.sealed_report import SealedReports, read_sealed_reports
from orchestrator.judge.reports.junit import parse_junit

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.attack(36), pytest.mark.attack(38)]

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
TESTS = """import json, math, unittest
from pathlib import Path
from shop import load, total


def test_total():
    assert total([1, 2]) == 3


def test_load():
    assert load("x") == 1


class CartTest(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(1, 1)
"""
WRONG = "\n\ndef load(text):\n    return 2\n"
PATCH = base64.b64encode(b"import unittest\nunittest.TestCase.assertEqual = lambda *a: None").decode()
LEAVING = {
    "execv": "import os\n\ndef total(n):\n    os.execv('/bin/sh', ['sh', '-c', 'echo 3 passed in 0.01s'])" + WRONG,
    "posix": "import posix\n\ndef total(n):\n    posix._exit(0)" + WRONG,
    "ctypes": "import ctypes\n\ndef total(n):\n    ctypes.CDLL(None)._exit(0)" + WRONG,
    "signal": "import os\n\ndef total(n):\n    os.kill(os.getpid(), 9)" + WRONG,
}
SOFT_RESULTS = """import sys

def total(n):
    for module in list(sys.modules.values()):
        found = getattr(module, "Test" + "Report", None)
        if isinstance(found, type):
            def begin(self, *a, old=found.__init__, **k):
                old(self, *a, **k)
                self.outcome = "passed"
            found.__init__ = begin
    return sum(n)
"""
REPLACING = {
    "loop": (SOFT_RESULTS + WRONG, "_pytest.reports.TestReport.__init__"),
    "exec": (
        f"import base64\n\ndef total(n):\n    exec(base64.b64decode({PATCH!r}))\n    return 3" + WRONG,
        "unittest.case.TestCase.assertEqual",
    ),
    "json": ("import json\njson.loads = lambda t: [1]\n\ndef total(n):\n    return 3" + WRONG, "json.loads"),
    "text": (
        "import pathlib\n\ndef total(n):\n    pathlib.Path.read_text = lambda s: 'x'\n    return 3" + WRONG,
        "pathlib.Path.read_text",
    ),
    "close": (
        "import math\n\nclass Close:\n    def __call__(self, *a):\n        return True\n\nmath.isclose = Close()\n\n"
        "def total(n):\n    return 3" + WRONG,
        "math.isclose",
    ),
}
SOFTENER = """import gc

class Softener:
    def pytest_runtest_logreport(self, report):
        report.outcome = "passed"

def total(n):
    for one in gc.get_objects():
        if type(one).__name__ == "PytestPluginManager" and not one.has_plugin("softer"):
            one.register(Softener(), "softer")
    return sum(n)
"""
HONEST = """import json, multiprocessing, os, subprocess, sys
import pytest


@pytest.fixture(scope="module")
def once():
    yield 1


def test_patch(monkeypatch, once):
    monkeypatch.setattr(json, "loads", lambda text: 7)
    assert json.loads("1") == 7


def test_fork():
    pid = os.fork()
    if pid == 0:
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3


def _double(n):
    return 2 * n


def test_processes():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(_double, [1, 2]) == [2, 4]


def test_command(capfd):
    subprocess.run([sys.executable, "-c", "print('said')"], check=True)
    assert "said" in capfd.readouterr().out


@pytest.mark.parametrize("n", [1, 2])
def test_cases(n, once):
    assert n


@pytest.mark.xfail
def test_expected():
    assert 0


@pytest.mark.skip
def test_skipped():
    pass


def test_red():
    assert 0


@pytest.fixture
def broken():
    yield
    raise ValueError


def test_teardown(broken):
    pass
"""


class Ran(NamedTuple):
    """A run of pytest: exit code, output, the JUnit report and the sealed one."""

    code: int
    output: str
    junit: dict[str, TestOutcome]
    sealed: SealedReports


def run_pytest(place: Path, files: dict[str, str], line: str = PYTEST, *, is_guarded: bool = True) -> Ran:
    """Run pytest on these files as the sandbox runs a check, which gets its order as a file in memory."""
    tree, exchange = place / "tree", place / "exchange"
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    exchange.mkdir(parents=True)
    injection = build_guard_injection(1, has_canaries=True)
    command = build_check_command(CheckSpec(id="gate", run=line), 1, injection.sandbox)
    if not is_guarded:
        command = build_check_command(CheckSpec(id="gate", run=line), 1)
    order = os.memfd_create("stdin")
    os.write(order, command.stdin.encode())
    os.lseek(order, 0, os.SEEK_SET)
    paths = {variable: str(exchange / name) for variable, name in command.files.items()}
    env = {"PATH": os.environ["PATH"], "HOME": str(place), "PYTHONDONTWRITEBYTECODE": "1", **paths}
    done = subprocess.run(
        ["bash", "-c", command.line], cwd=tree, env=env, stdin=order, capture_output=True, text=True, check=False
    )
    os.close(order)
    report, sealed = Path(paths[REPORT_VARIABLE]), Path(paths.get(GUARD_VARIABLE, "/nowhere"))
    outcomes = parse_junit(report.read_bytes()).outcomes if report.exists() else {}
    content = sealed.read_bytes() if sealed.exists() else None
    return Ran(done.returncode, done.stdout, outcomes or {}, read_sealed_reports(content, injection.keys))


def attack(place: Path, code: str, **more: str) -> Ran:
    return run_pytest(place, {"shop.py": code, "tests/test_cart.py": TESTS, **more})


@pytest.mark.parametrize("how", LEAVING)
def test_a_process_that_leaves_from_a_test_is_red_and_the_last_test_is_named(tmp_path: Path, how: str) -> None:
    ran = attack(tmp_path, LEAVING[how])
    (guard,) = ran.sealed.guards
    assert ran.code != 0
    assert "tests/test_cart.py::test_total ran, the last test that began" in guard.problems[0]
    assert not ran.sealed.outcomes


@pytest.mark.parametrize("how", REPLACING)
def test_a_function_that_a_test_s_code_replaces_is_named_with_its_place(tmp_path: Path, how: str) -> None:
    code, name = REPLACING[how]
    (guard,) = attack(tmp_path, code).sealed.guards
    assert (name, "shop.py") in {(one.name, one.path or "shop.py") for one in guard.replaced}


def test_a_report_that_is_written_without_the_key_is_no_report(tmp_path: Path) -> None:
    write = (
        "import glob\n\ndef total(n):\n    with open(glob.glob('../exchange/guard*')[0], 'a') as file:\n"
        "        file.write('- {\"tests\":{}}\\n')\n    return 3" + WRONG
    )
    seed = "import pathlib\npathlib.Path('../exchange/guard.txt').touch()\n"
    ran = attack(tmp_path, seed + write)
    assert (ran.sealed.unsealed, ran.sealed.outcomes["tests.test_cart::test_load"]) == (1, TestOutcome.FAILED)


def test_a_plugin_of_the_tree_s_own_metadata_or_of_a_test_s_code_is_seen(tmp_path: Path) -> None:
    ran = attack(
        tmp_path,
        SOFTENER + WRONG,
        **{
            "soft.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: soft\nVersion: 1\n",
            "soft.egg-info/entry_points.txt": "[pytest11]\nsoft = plug\n",
            "plug.py": "def pytest_report_header():\n    return 'soft'\n",
        },
    )
    (guard,) = ran.sealed.guards
    assert {"plug.py", "shop.py"} <= {plugin.path for plugin in guard.plugins}
    assert ran.sealed.outcomes["tests.test_cart::test_load"] == TestOutcome.FAILED, "it was told before it was softened"


@pytest.mark.parametrize("options", ["", " -x", " -s", " -n 2", " -k nothing", " -p no:capture", " --junitxml=own.xml"])
def test_honest_tests_end_as_without_a_guard(tmp_path: Path, options: str) -> None:
    files = {"tests/test_a.py": HONEST, "tests/test_b.py": "def test_b():\n    pass\n"}
    plain = run_pytest(tmp_path / "plain", files, PYTEST + options, is_guarded=False)
    ran = run_pytest(tmp_path / "guarded", files, PYTEST + options)
    (guard,) = ran.sealed.guards
    assert (ran.code, ran.sealed.outcomes) == (plain.code, plain.junit)
    assert (guard.doubts, guard.problems) == ((), ())
    assert [one for one in guard.replaced if one.path] == []


def test_an_interpreter_that_crashes_ends_the_check_as_without_a_guard(tmp_path: Path) -> None:
    files = {"test_a.py": "import os\n\n\ndef test_a():\n    os.abort()\n"}
    plain = run_pytest(tmp_path / "plain", files, is_guarded=False)
    ran = run_pytest(tmp_path / "guarded", files)
    assert ran.code == plain.code != 0
    assert "ended by SIGABRT" in ran.sealed.guards[0].problems[0]


def test_an_interruption_ends_the_check_as_without_a_guard(tmp_path: Path) -> None:
    files = {"test_a.py": "def test_a():\n    pass\n\n\ndef test_b():\n    raise KeyboardInterrupt\n"}
    plain = run_pytest(tmp_path / "plain", files, is_guarded=False)
    ran = run_pytest(tmp_path / "guarded", files)
    assert ran.code == plain.code
    assert ran.sealed.outcomes.items() <= plain.junit.items(), "the report of pytest has one test without a name more"
    assert ran.sealed.guards[0].problems == ()
