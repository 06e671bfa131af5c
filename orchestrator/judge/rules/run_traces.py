"""Rules over what a candidate's test run did beside its outcomes, compared with what the base's run did.

Whatever the base's run shows as well is never counted.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from orchestrator.domain.judging.run_trace import GuardReport, ReplacedFunction, RunTrace
from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.judge.files.changed_file import find_path_protection
from orchestrator.judge.rules.change_facts import ChangeFacts, build_flag

_COMPILED = (".so", ".pyd")
_RUNNERS = frozenset({"pytest", "_pytest", "pluggy", "unittest", "builtins", "xdist"})
"""Modules of which nothing may be replaced, whatever it is replaced by."""


def check_replaced_functions(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each function of the runner, Python or a package that code of the workspace replaced."""
    known = {(function.name, function.path) for guard in _list_guards(facts.base_traces) for function in guard.replaced}
    for function in _list_new_functions(_list_guards(facts.traces), known):
        what = f"while the tests run, {function.name} is not what Python or its package brings"
        if function.path:
            text = f"{what}, but code at {function.path}:{function.line}"
            advice = ": leave it as it is, or undo it as `monkeypatch` does"
            yield facts.build_finding(RuleId.REPLACED, text, function.path, function.line, advice=advice)
        elif function.name.partition(".")[0] in _RUNNERS or function.line:
            text = f"{what}: something in this change replaces it; leave it as it is"
            yield Finding(rule=RuleId.REPLACED, text=text, is_blocking=True)
        else:
            yield build_flag(RuleId.REPLACED, f"{what}, on the base it is")


def _list_new_functions(guards: Iterable[GuardReport], known: set[tuple[str, str]]) -> Iterator[ReplacedFunction]:
    """Yield what was replaced and is not known; all names that one place replaced count once."""
    seen = set[tuple[str, int]]()
    for guard in guards:
        for function in guard.replaced:
            place = (function.path or function.name, function.line)
            if (function.name, function.path) not in known and place not in seen:
                seen.add(place)
                yield function


def check_loaded_modules(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each plugin, shadowing module and compiled module that the base's run did not load."""
    before = _list_guards(facts.base_traces)
    if not before:
        return
    known_plugins = {plugin.name for guard in before for plugin in guard.plugins}
    known_modules = {name for guard in before for name in guard.modules}
    foreign = {name for guard in before for name in guard.foreign_modules}
    changed = {file.path for file in facts.files}
    found: dict[str, str] = {}
    for guard in _list_guards(facts.traces):
        for plugin in guard.plugins:
            if plugin.path and plugin.name not in known_plugins and not _is_changed_conftest(plugin.path, changed):
                found[plugin.path] = f"{plugin.name} is in force as a plugin of the test runner, and is not on the base"
        for name, path in guard.modules.items():
            if name in foreign and name not in known_modules:
                found[path] = f"{path} is loaded in place of the module {name}, which lies elsewhere on the base"
            elif path.endswith(_COMPILED) and path in changed:
                found[path] = f"{path} is compiled code of this change that the tests load, and nobody can read"
    for path, text in sorted(found.items()):
        yield facts.build_finding(RuleId.LOADED, text, path, advice=": do without it")


def _is_changed_conftest(path: str, changed: Collection[str]) -> bool:
    """Return True for a conftest.py of the change itself: the rule on protected files says what that may hold."""
    return PurePosixPath(path).name == "conftest.py" and path in changed


def check_written_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each protected file that the candidate's run wrote and the base's did not."""
    known = {path for trace in facts.base_traces for path in trace.written or ()}
    written = {path for trace in facts.traces for path in trace.written or ()}
    for path in sorted(written - known):
        if find_path_protection(path) is not None:
            text = f"{path} was written or replaced while the tests ran, which the base's run does not do"
            yield facts.build_finding(RuleId.WRITTEN, text, path, advice=": leave it alone")


def check_guard(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a flag where nobody guards the outcomes of the gate."""
    reasons = {trace.unguarded for trace in facts.traces if trace.unguarded}
    for reason in sorted(reasons):
        yield build_flag(RuleId.UNGUARDED, f"outcomes of this gate are not guarded: {reason}")


def _list_guards(traces: Sequence[RunTrace]) -> list[GuardReport]:
    guards: list[GuardReport] = []
    for trace in traces:
        guards += trace.guards
    return guards
