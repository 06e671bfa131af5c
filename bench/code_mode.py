"""Measure what code mode saves: a worker that has to look at 40 files, by calls of `read` and by one program.

    python -m bench.code_mode
    FILES=200 LINES=60 python -m bench.code_mode

Both are whole conversations of a worker, with its prompts, all of its tools, the agent loop, a workspace and the
sandbox; a script plays the model. Tokens are those of all requests of a conversation, as budgets estimate them before a
call, with the tools' descriptions and the calls that the model writes. Calls are made one in a reply, and eight in a
reply, which saves most of what can be saved otherwise. Leaves with 1 if a program takes more than 10 % of either.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import anyio

from orchestrator.domain.ids import CommitId, TaskId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.task import Attempt, Handoff, Task
from orchestrator.hands.local import open_local_hands
from orchestrator.llm.budget import estimate_usage
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.ports.roles import WorkBrief
from tests.loopback.builders import call, reply
from tests.running.role_bench import RoleBench, open_role_journal
from tests.running.scripts import worker_ends
from worktrees.repositories.repository import GitRepository

MOST_SHARE = 0.10
NAME = "handlers"
AT_ONCE = 8
HANDLER = '''"""Handler {number}: takes an order of kind {number} and passes it on."""

from service.base import Handler, Reply, Request

TIMEOUT_S = {timeout}

'''
METHOD = '''
def check_part_{number}_{part}(request: Request) -> Reply:
    """Check part {part} of an order and say what is wrong with it."""
    amount = request.amounts.get("part-{part}", 0)
    if amount > {part}_000:
        return Reply(status=400, text=f"part {part}: {{amount}} is too much")
    return Reply(status=200, text="part {part}: " + request.describe(amount))

'''
PROGRAM = """
from tools import list_files, read
for path in list_files("service", "handler_*.py"):
    for line in read(path).splitlines():
        if line.startswith("TIMEOUT_S") and line != "TIMEOUT_S = 30":
            print(path, line)
"""


def main() -> None:
    """Measure, print, judge."""
    files, lines = int(os.environ.get("FILES", "40")), int(os.environ.get("LINES", "120"))
    names = [f"service/handler_{number:03}.py" for number in range(files)]
    program = [reply(role="worker", task=NAME, call=[call("program", code=PROGRAM)])]
    by_program = anyio.run(measure_conversation, lines, names, program)
    print(f"{files} files of {lines} lines; tokens of all requests of a conversation")
    print(f"{'one program':24} {by_program:10,}")
    shares = []
    for title, size in (("one call in a reply", 1), (f"{AT_ONCE} calls in a reply", AT_ONCE)):
        by_calls = anyio.run(measure_conversation, lines, names, list_reads(names, size))
        shares.append(by_program / by_calls)
        print(f"{title:24} {by_calls:10,}   a program takes {shares[-1]:.1%} of that, at most {MOST_SHARE:.0%}")
    sys.exit(1 if max(shares) > MOST_SHARE else 0)


def list_reads(names: Sequence[str], size: int) -> list[ScriptedReply]:
    """Replies that read all files, so many in each."""
    replies = []
    for begin in range(0, len(names), size):
        calls = [call("read", path=name) for name in names[begin : begin + size]]
        replies.append(reply(role="worker", task=NAME, call=calls))
    return replies


async def measure_conversation(lines: int, names: Sequence[str], replies: Sequence[ScriptedReply]) -> int:
    """Tokens of the requests of a conversation that plays these replies and ends."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        head = write_project(place / "project", names, lines)
        task = Task(id=TaskId(NAME), parent=None, depth=1, kind="leaf", title="Timeouts", outcome="Odd ones are known.")
        journal = await open_role_journal(place / "journal", task)
        worker = {"context_tokens": 1_000_000, "max_turns": 1_000}
        bench = RoleBench(journal, *replies, worker_ends(NAME), worker=worker)
        attempt = Attempt(task=task.id, number=1, mode="fresh", base=head, model="m")
        brief = WorkBrief(task=task, attempt=attempt, goal="Find handlers with an odd timeout.", gate="true")
        began = time.monotonic()
        async with open_local_hands(GitRepository.open(place / "project"), place / "state") as hands:
            if hands.refusal_reason:
                sys.exit(hands.refusal_reason)
            workspace = await hands.open_workspace(head, Purpose("bench"))
            ended = await bench.roles.worker.work_on_task(brief, workspace)
        assert isinstance(ended, Handoff), ended
        check_answers(bench, names)
        print(f"  {len(bench.model.requests)} requests, {time.monotonic() - began:.1f} s", file=sys.stderr)
        journal.close()
        return sum(estimate_usage(request, None, None).input_tokens for request in bench.model.requests)


def check_answers(bench: RoleBench, names: Sequence[str]) -> None:
    """See that the last request holds what was to be found out: each odd timeout."""
    text = "\n".join(message.text for message in bench.model.requests[-1].messages)
    found = text.count("TIMEOUT_S = 31")
    assert found == len(range(0, len(names), 10)), f"{found} odd timeouts were shown"


def write_project(root: Path, names: Sequence[str], lines: int) -> CommitId:
    """A repository of handlers, of which every tenth has an odd timeout; its commit."""
    for number, name in enumerate(names):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = HANDLER.format(number=number, timeout=31 if number % 10 == 0 else 30)
        for part in range((lines - text.count("\n")) // METHOD.count("\n")):
            text += METHOD.format(number=number, part=part)
        file.write_text(text)
    git = ["git", "-C", str(root), "-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "Start"], check=True)
    done = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return CommitId(done.stdout.strip())


if __name__ == "__main__":
    main()
