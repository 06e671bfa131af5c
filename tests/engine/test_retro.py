"""A retrospective on recorded runs: a weakness planted in a prompt is named, mended and tried; sound runs are left."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.demo.runs import hash_checkout
from orchestrator.domain.budget.usage import Usage
from orchestrator.errors import UsageProblem
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from orchestrator.retro.report import Retrospective, build_retro_document
from orchestrator.retro.report_text import render_retrospective
from orchestrator.scratch_runs.retro import RetroOptions, look_back
from prompts import load_prompt
from tests.loopback.play import task_of
from tests.loopback.server import LoopbackServer
from tests.running.goals import Bench, task
from tests.running.projects import calculator, refs
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

LINE = "- Do not silence linters, type checkers or coverage"
RULE = "Never write `noqa`"
PLACE = "- Before you finish, run the project's check"


def plant_weakness(directory: Path) -> Path:
    """A directory of prompts in which the worker is not told to leave linters alone."""
    directory.mkdir()
    lines = load_prompt("worker").source.splitlines(keepends=True)
    first = next(place for place, line in enumerate(lines) if line.startswith(LINE))
    (directory / "worker.md").write_text("".join(lines[:first] + lines[first + 1 :]))
    return directory


def sent_back(name: str) -> list[ScriptedReply]:
    """A worker silences a linter, is sent back for it, and mends it."""
    first = [writes(name, f"{name}.py", "x = 1  # noqa\n"), worker_ends(name)]
    first.append(uses("planner", name, "answer_grant", decision="refuse", reason="nothing needs it"))
    return [*first, writes(name, f"{name}.py", "x = 1\n"), worker_ends(name), reviews(name)]


async def record_runs(bench: Bench, prompts: Path) -> None:
    """Three runs with the planted weakness."""
    told: dict[str, Any] = {"prompts": {"dir": str(prompts)}}
    for name in ("a", "b"):
        await bench.run(plans("root", {"key": name}), *sent_back(name), planner_ends(), judges(), **told)
    both = plans("root", {"key": "c"}, {"key": "d", "depends_on": ["c"]})
    await bench.run(both, *sent_back("c"), *task("d"), planner_ends(), judges(), **told)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    root = tmp_path_factory.mktemp("retro")
    bench = Bench(root, calculator(root / "repo"))
    anyio.run(record_runs, bench, plant_weakness(root / "prompts"))
    return bench


def work(asked: dict[str, Any]) -> ScriptedReply:
    """A worker that silences linters unless its prompt forbids it, whatever else the prompt says."""
    name = task_of(asked["messages"])
    is_told = RULE in str(asked["messages"][0]["content"])
    text = "x = 1\n" if is_told else "x = 1  # noqa\n"
    return writes(name, f"{name}.py", text)


def mend(words: str) -> Callable[[dict[str, Any]], ScriptedReply]:
    """A judge that puts words before a sentence of the prompt."""

    def answer(asked: dict[str, Any]) -> ScriptedReply:
        edits = [{"old": PLACE, "new": f"- {words}\n{PLACE}"}]
        return uses("judge", "root", "submit_edits", reason="nothing forbids it", edits=edits)

    return answer


class Estimates(list[tuple[Usage, int]]):
    """The estimates that were told."""

    def __call__(self, usage: Usage, calls: int) -> None:
        self.append((usage, calls))


USUAL = RetroOptions()


async def look(
    bench: Bench, server: LoopbackServer | None = None, wanted: RetroOptions = USUAL, **flags: Any
) -> tuple[Retrospective, Estimates]:
    """A retrospective on the bench's runs, whose models answer behind HTTP."""
    told = Estimates()
    values: dict[str, Any] = {
        "state": {"dir": str(bench.root / "state")},
        "prompts": {"dir": str(bench.root / "prompts")},
    }
    if server is None:
        return await look_back(Options(bench.repository, values | flags), wanted, told), told
    async with server.run() as url:
        where = {"api_base": url, "api_key_env": "LOOPBACK_KEY"}
        values["roles"] = {role: {"model": f"openai/{role}"} | where for role in ("worker", "judge")}
        return await look_back(Options(bench.repository, values | flags), wanted, told), told


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBACK_KEY", "sk-not-a-secret")


@pytest.mark.extended
async def test_a_planted_weakness_is_named_and_a_diff_is_proposed_that_asking_again_confirms(
    recorded: Bench, tmp_path: Path
) -> None:
    before = hash_checkout(recorded.repository), refs(recorded.repository)
    server = LoopbackServer((), answering={"worker": work, "judge": mend(RULE)})
    retro, told = await look(recorded, server, RetroOptions(out=tmp_path / "out"))
    (finding,) = retro.findings
    assert (finding.use.name, finding.cause.label) == ("worker", "rule suppression")
    assert (finding.tasks, finding.all_tasks, finding.runs) == (3, 4, 3)
    (proposal,) = retro.proposals
    assert proposal.state == "confirmed", list(render_retrospective(retro))
    assert f"+- {RULE}" in proposal.diff.splitlines()
    assert sorted(one.result for one in proposal.tried) == ["better"] * 3 + ["fine"] * 3, proposal.tried
    assert (told[0][1], retro.spent.calls, retro.exit_code) == (6, 7, 1)
    assert RULE in (tmp_path / "out" / "prompts" / "worker.md").read_text()
    assert (hash_checkout(recorded.repository), refs(recorded.repository)) == before


@pytest.mark.extended
async def test_a_proposal_that_changes_nothing_in_what_is_done_is_shown_as_refused(
    recorded: Bench, tmp_path: Path
) -> None:
    server = LoopbackServer((), answering={"worker": work, "judge": mend("Work with care.")})
    retro, _ = await look(recorded, server, RetroOptions(out=tmp_path / "out"))
    (proposal,) = retro.proposals
    assert (proposal.state, proposal.tried[0].result) == ("refused", "as-before")
    assert "refused, asking again does not confirm it" in "\n".join(render_retrospective(retro))
    assert not (tmp_path / "out" / "prompts").exists()
    assert build_retro_document(retro).as_object()["proposals"][0]["state"] == "refused"


@pytest.mark.extended
async def test_what_journals_say_reaches_the_judge_as_fenced_data(recorded: Bench) -> None:
    server = LoopbackServer((), answering={"worker": work, "judge": mend(RULE)})
    await look(recorded, server)
    asked = next(body for body in server.bodies if body["model"] == "judge")
    brief = str(asked["messages"][1]["content"])
    inside = brief.split("<evidence-")[1].split("</evidence-")[0]
    assert brief.count("rule suppression, run") == inside.count("rule suppression, run") == 3


@pytest.mark.extended
async def test_without_a_model_only_what_was_found_is_said(recorded: Bench) -> None:
    retro, told = await look(recorded, wanted=RetroOptions(asks_model=False))
    assert (len(retro.findings), retro.proposals, told, retro.estimate) == (1, (), [], None)


@pytest.mark.extended
async def test_a_prompt_that_has_other_words_by_now_is_named_and_left_alone(recorded: Bench) -> None:
    retro, told = await look(recorded, prompts={"dir": ""})
    assert ([retro.is_current(finding) for finding in retro.findings], retro.proposals, told) == ([False], (), [])


@pytest.mark.extended
async def test_a_budget_that_is_spent_ends_it_and_keeps_what_was_found(recorded: Bench) -> None:
    server = LoopbackServer((), answering={"worker": work, "judge": mend(RULE)})
    retro, _ = await look(recorded, server, budget={"calls": 1})
    assert (retro.exit_code, len(retro.findings), retro.proposals[0].state) == (5, 1, "untried")
    assert "budget" in retro.stopped


@pytest.mark.extended
async def test_healthy_runs_propose_nothing_and_ask_nobody(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        await bench.run(plans("root", {"key": name}), *task(name), planner_ends(), judges())
    told = Estimates()
    flags = {"state": {"dir": str(bench.root / "state")}}
    retro = await look_back(Options(bench.repository, flags), RetroOptions(), told)
    assert (len(retro.runs), retro.findings, retro.settings, retro.exit_code, told) == (3, [], (), 0, [])
    assert {row.use.name for row in retro.rows} == {"planner", "worker", "judge"}


async def test_an_output_directory_in_the_checkout_or_with_content_is_refused(bench: Bench) -> None:
    options = Options(bench.repository, {"state": {"dir": str(bench.root / "state")}})
    for place, said in ((bench.repository / "out", "lies in the checkout"), (bench.root, "no empty directory")):
        with pytest.raises(UsageProblem, match=said):
            await look_back(options, RetroOptions(out=place), Estimates())
