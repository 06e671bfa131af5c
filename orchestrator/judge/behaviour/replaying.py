"""Making recorded calls again in plain Python and in a bare test, to see which results depend on being tested.

A result counts against a change if it is another one outside any test run, twice, and the recorded one again, five
times, in a test that has nothing of the project's: neither chance nor a fixture, a setting or a place explains that.
"""

import base64
import json
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple

from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.run_trace import FunctionCall
from orchestrator.domain.purpose import Purpose
from orchestrator.hands.execution.lost_hosts import repeat_on_lost_host
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.judge.behaviour.replayed_calls import ReplayedCalls, TestAwareCall
from orchestrator.judge.behaviour.sandbox_text import build_plain_script, build_test_module
from orchestrator.judge.files.changed_file import ChangedFile, is_test_path
from orchestrator.judge.gate.drawn_names import draw_names
from orchestrator.ports.hands import Hands, ShellCommand, Workspace

_RESULTS = "ORCHESTRATE_CALLS"
_TIMEOUT_S = 120.0
_OUTPUT_BYTES = 1024 * 1024
_MAX_CALLS, _MAX_CHARS, _MAX_MODULES = 400, 1024 * 1024, 100
_CONFIRMATIONS = 5
"""One of few results that a function draws at random may be the recorded one in a test once, and not beside it."""
_NAMES = ("main", "run", "start", "job", "serve", "report", "update", "sync", "tool", "cli", "daily", "import_data")
_SET_UP = f"""\
IFS= read -r _name; IFS= read -r _python; IFS= read -r _text; exec </dev/null >/dev/null 2>&1
_folder=$(mktemp -d) && printf '%s' "$_text" | base64 -d >"$_folder/$_name.py" || exit 0
printf '%s' "${_RESULTS}" >"$_folder/$_name.txt"; unset {_RESULTS} PYTEST_ADDOPTS
"""
_PLAIN = '"$_python" "$_folder/$_name.py"'
_TEST = """\
printf '[pytest]\\n' >"$_folder/pytest.ini"; export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
"$_python" -m pytest -q -p no:cacheprovider --noconftest -c "$_folder/pytest.ini" --rootdir "$_folder" \\
  "$_folder/$_name.py"
"""


class CallEnding(NamedTuple):
    """The end of a call that was made again: as in `FunctionCall`."""

    ending: str
    digest: str
    shown: str


Endings = Mapping[int, CallEnding]
"""Number of a call → how it ended; without those that could not be made."""


class CallReplayer:
    """Makes calls again on the tree of a commit, with the interpreter that ran its tests."""

    def __init__(self, hands: Hands, commit: CommitId, purpose: Purpose) -> None:
        self._hands = hands
        self._commit = commit
        self._purpose = purpose

    async def replay_calls(self, calls: Sequence[FunctionCall], python: str) -> ReplayedCalls:
        """Return which calls end otherwise outside a test; those whose result differs by itself are left out.

        Raises:
            EnvironmentProblem: no workspace or sandbox could be had.
        """
        chosen = choose_calls(calls)
        first = await repeat_on_lost_host(partial(self._run_alone, chosen, python))
        doubtful = [call for number, call in enumerate(chosen) if _is_other(call, first.get(number))]
        aware: tuple[TestAwareCall, ...] = ()
        if doubtful:
            aware = await repeat_on_lost_host(partial(self._compare_with_test, doubtful, python))
        made = len(first.keys() & range(len(chosen)))
        return ReplayedCalls(len(calls), made, aware)

    async def _run_alone(self, calls: Sequence[FunctionCall], python: str) -> Endings:
        """Return how the calls end in plain Python, in a workspace of their own."""
        async with self._open_workspace() as workspace:
            return await self._run_plain(workspace, calls, python)

    async def _compare_with_test(self, calls: Sequence[FunctionCall], python: str) -> tuple[TestAwareCall, ...]:
        """Return those calls that end as recorded in a test of ours, and otherwise beside it, all in one world."""
        async with self._open_workspace() as workspace:
            return await self._find_aware_calls(workspace, calls, python)

    async def _find_aware_calls(
        self, workspace: Workspace, calls: Sequence[FunctionCall], python: str
    ) -> tuple[TestAwareCall, ...]:
        outside = await self._run_plain(workspace, calls, python)
        suspects = [number for number, call in enumerate(calls) if _is_other(call, outside.get(number))]
        for _ in range(_CONFIRMATIONS):
            in_test = await self._run_test(workspace, calls, python) if suspects else {}
            suspects = [number for number in suspects if _is_recorded(calls[number], in_test.get(number))]
        with_arguments = await self._run_plain(workspace, calls, python, has_argv=True) if suspects else {}
        aware = []
        for number in suspects:
            is_explained = _is_recorded(calls[number], with_arguments.get(number))
            aware.append(TestAwareCall(calls[number], outside[number].shown, is_explained))
        return tuple(aware)

    @asynccontextmanager
    async def _open_workspace(self) -> AsyncIterator[Workspace]:
        workspace = await self._hands.open_workspace(self._commit, self._purpose)
        try:
            yield workspace
        finally:
            await workspace.close()

    async def _run_plain(
        self, workspace: Workspace, calls: Sequence[FunctionCall], python: str, *, has_argv: bool = False
    ) -> Endings:
        name = f"{secrets.choice(_NAMES)}_{secrets.randbelow(1000)}"
        return await self._run_script(workspace, _PLAIN, name, python, build_plain_script(calls, has_argv=has_argv))

    async def _run_test(self, workspace: Workspace, calls: Sequence[FunctionCall], python: str) -> Endings:
        name = f"test_{secrets.choice(_NAMES)}_{secrets.randbelow(1000)}"
        return await self._run_script(workspace, _TEST, name, python, build_test_module(calls, f"{name}_works"))

    async def _run_script(self, workspace: Workspace, line: str, name: str, python: str, text: str) -> Endings:
        order = f"{name}\n{python}\n{base64.b64encode(text.encode()).decode()}\n"
        command = ShellCommand(
            line=_SET_UP + line,
            stdin=order,
            timeout_s=_TIMEOUT_S,
            output_bytes=_OUTPUT_BYTES,
            files={_RESULTS: "calls.txt"},
        )
        drawn = draw_names(command)
        result = drawn.restore_names(await run_command(workspace, drawn.command))
        return await to_thread.run_sync(parse_endings, result.files.get(_RESULTS, b""))


def list_recorded_modules(files: Sequence[ChangedFile]) -> tuple[str, ...]:
    """Return the changed modules of Python whose calls are worth recording: product code that there is to import."""
    found = []
    for file in files:
        is_code = file.path.endswith(".py") and file.is_python and file.has_new_content
        if is_code and not is_test_path(file.path) and not file.path.endswith(("conftest.py", "setup.py")):
            found.append(file.path)
    return tuple(found[:_MAX_MODULES])


def choose_calls(calls: Sequence[FunctionCall]) -> list[FunctionCall]:
    """Return the calls that are made again: as many as fit, of every function some before of any more."""
    counts: dict[tuple[str, str], int] = {}
    ranked = []
    for number, call in enumerate(calls):
        turn = counts[call.path, call.name] = counts.get((call.path, call.name), 0) + 1
        ranked.append((turn, number))
    chosen, room = [], _MAX_CHARS
    for _, number in sorted(ranked)[:_MAX_CALLS]:
        room -= len(calls[number].arguments)
        if room < 0:
            break
        chosen.append(calls[number])
    return chosen


def parse_endings(content: bytes) -> Endings:
    """Return what the sandbox wrote, which may be anything: some numbers may name no call."""
    found: dict[int, CallEnding] = {}
    for line in content.decode("utf-8", "replace").splitlines():
        try:
            number, ending, digest, shown = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            continue
        if isinstance(number, int):
            found[number] = CallEnding(str(ending), str(digest), str(shown)[:200])
    return found


def _is_recorded(call: FunctionCall, ending: CallEnding | None) -> bool:
    """Return True if a call ended as it was recorded; False if it could not be made."""
    return ending is not None and not _is_other(call, ending)


def _is_other(call: FunctionCall, ending: CallEnding | None) -> bool:
    """Return True if a call ended otherwise than it was recorded; False if it could not be made."""
    return ending is not None and (ending.ending, ending.digest) != (call.ending, call.digest)
