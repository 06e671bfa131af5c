"""The tail of a migration by a model, through the real litellm: evidence in, wider context, then landed or a person."""

import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit, run_migration
from orchestrator.domain.migration.files import FileStatus
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from tests.loopback.play import task_of, text_of
from tests.loopback.server import LoopbackServer
from tests.running.projects import git
from tests.running.scripts import worker_ends, writes
from tests.running.words import SED, recipe, words

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(900)]

TAIL = {
    "id": "tail",
    "kind": "llm",
    "when": "failed",
    "prompt": "Find a word that its test allows.",
    "context": ["{file}", "{original}", "{codemod_diff}", "{failures}", "{siblings:2}", "{examples:1}"],
    "context_tokens": [70, 4_000],
    "attempts": 3,
}
_PATH = re.compile(r"^Migrate the file (\S+)\. This is attempt (\d) of 3\.$", re.MULTILINE)


def brief_of(body: dict[str, Any]) -> str:
    return text_of(body["messages"][1])


def answers(body: dict[str, Any]) -> ScriptedReply:
    """A worker that can make `c.txt` right once it has been shown which word failed there, and `d.txt` never."""
    task, brief = task_of(body["messages"]), brief_of(body)
    if len(body["messages"]) > 2:
        return worker_ends(task)
    (found,) = _PATH.findall(brief)
    path, attempt = found
    is_told = "'worse' not found in" in brief
    word = "better" if path == "c.txt" and is_told else "worse" if attempt == "1" else f"bad{attempt}"
    return writes(task, path, f"{word}\n")


def pieces(brief: str, label: str) -> list[str]:
    """What stands in fences of this label."""
    return [text for _, text in re.findall(rf"<({label}-[0-9a-f]{{16}})>\n(.*?)\n</\1>", brief, re.DOTALL)]


async def run(root: Path, url: str) -> RunExit:
    where = {"state": {"dir": str(root.parent / "state")}}
    roles = {"worker": {"model": "openai/worker", "api_base": url}}
    given = recipe({"run": SED}, TAIL, {"id": "hand", "kind": "human", "when": "failed"})
    return await run_migration(Options(root, where | {"roles": roles}), given)


async def test_failed_files_climb_with_the_evidence_in_a_wider_context_and_land_or_reach_a_person(
    tmp_path: Path,
) -> None:
    fine = {"a": ["old", "new"], "b": ["old", "new"], "c": ["old", "better"], "d": ["old"]}
    root = words(tmp_path / "repo", fine)
    async with (server := LoopbackServer([], answering={"worker": answers})).run() as url:
        ended = await run(root, url)
    files = ended.state.migration.files
    assert {path: file.status.value for path, file in files.items()} == {
        "a.txt": "merged",
        "b.txt": "merged",
        "c.txt": "merged",
        "d.txt": "needs-human",
    }
    assert [git(root, "show", f"{ended.state.run.branch}:{name}.txt") for name in "abcd"] == [
        *("new", "new", "better", "old")
    ]
    assert (files["c.txt"].attempt, files["d.txt"].attempt) == (2, 0)
    assert "breaks 1 test" in files["d.txt"].reason
    assert files["d.txt"].status == FileStatus.NEEDS_HUMAN

    told = {_PATH.findall(brief_of(body))[0]: brief_of(body) for body in server.bodies}
    assert sorted(told) == [("c.txt", "1"), ("c.txt", "2"), *(("d.txt", n) for n in "123")]
    first, second, last = told["c.txt", "1"], told["c.txt", "2"], told["d.txt", "3"]
    assert "Find a word that its test allows." in first
    assert pieces(first, "file") == ["new"], "it is given what failed"
    assert pieces(first, "original") == ["old"]
    assert "There was no room to show" in first
    assert not pieces(first, "example")
    assert "+worse" in pieces(second, "codemod-diff")[0], "what its last attempt made"
    assert "'worse' not found in" in pieces(second, "failures")[0]
    assert len(pieces(second, "sibling")) == 2
    assert "+new" in pieces(second, "example")[0], "an accepted file is an example"
    assert "There was no room to show" not in second
    assert len(second) > len(first)
    evidence = pieces(last, "failures")[0]
    assert all(word in evidence for word in ("'bad2' not found", "'worse' not found", "'new' not found"))
    tasks = {task.spec.title: task.status.value for task in ended.state.tasks.values()}
    assert tasks == {"step tail": "done", "migrate c.txt": "merged", "migrate d.txt": "rejected"}
    assert ended.state.spend.total.calls == len(server.bodies) == 10
    assert ended.exit_code == 3
