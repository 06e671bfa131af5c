"""Runs that learn, as processes of their own, and what of them stands in the field guide of their repository."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from orchestrator.config.layers import get_user_config_path
from orchestrator.domain.ids import ROOT_TASK, TaskId
from orchestrator.domain.memory.entry import EntryEvidence, EvidenceKind, GuideEntry
from orchestrator.domain.run.state import RunState
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.journal.state.derivation import read_state
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.memory.guide_document import GuideDocument
from orchestrator.memory.guide_file import GuideFile
from orchestrator.memory.lifecycle import find_landed_commit
from tests.running.cli import environment
from tests.running.killing import Start
from tests.running.projects import GATE, calculator, git
from tests.running.scripts import judges, planner_ends, plans, uses, write_script, writes
from tests.unit.memory.test_index import entry


def ends(task: str, **fields: Any) -> ScriptedReply:
    """A worker finishes with a report that has these fields."""
    return uses("worker", task, "finish", summary="done", **fields)


def accepts(task: str, *ids: str) -> ScriptedReply:
    """A reviewer approves, and accepts these proposals."""
    findings = [{"id": "outcome", "met": True, "evidence": ["gate"]}]
    return uses("judge", task, "submit_verdict", decision="approve", findings=findings, accepted=list(ids))


def learns(task: str, claim: str) -> list[ScriptedReply]:
    """A worker writes a file of the task's name, and has learnt something by it."""
    learned = [{"claim": claim, "evidence": "change"}]
    return [writes(task, f"{task}.txt", f"{task}\n"), ends(task, learned=learned), accepts(task, f"{task}:1:1")]


def begin_repository(place: Path) -> GuideFile:
    """The calculator in `repo`, and its field guide in `state`."""
    root = calculator(place / "repo")
    return GuideFile(StateDirectory.locate_for(root, str(place / "state")).path)


def start_run(place: Path, goal: str, items: Sequence[ScriptedReply]) -> Start:
    """A run on the repository of `place` with these replies."""
    model = write_script(place / f"{goal}.json", items)
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
    words = ("run", goal, "--gate", GATE, "--set", "gate.report=unittest", *models)
    return Start(words, ("--repo", str(place / "repo"), "--state", str(place / "state")), place, environment(place))


def start_chain(place: Path, goal: str, count: int) -> Start:
    """A run of tasks one after the other, each of which learns something: it writes the guide after each of them."""
    names = [f"{goal}{number}" for number in range(count)]
    drafts = []
    for number, name in enumerate(names):
        drafts.append({"key": name, "depends_on": names[max(number - 1, 0) : number]})
    items = [plans("root", *drafts), planner_ends(), judges()]
    for name in names:
        items += learns(name, f"{name} is learnt")
    return start_run(place, goal, items)


def meet_before_work(place: Path, count: int) -> None:
    """Have so many runs wait for each other before their first attempts."""
    there, config = place / "there", get_user_config_path({"HOME": str(place)})
    there.mkdir()
    config.parent.mkdir(parents=True)
    wait = f"mktemp {there}/XXXXXX; until test $(ls {there} | wc -l) -ge {count}; do sleep 0.02; done"
    config.write_text(f'[[hooks]]\non = "before_attempt"\nrun = "{wait}"\ntrusted = true\n')


def make_entry(guide: GuideFile, place: Path, name: str) -> GuideEntry:
    """An entry whose evidence is the base of the repository."""
    here = EntryEvidence(kind=EvidenceKind.COMMIT, id=git(place / "repo", "rev-parse", "HEAD"))
    made = entry(name, f"{name} is known", evidence=here, expires_at=datetime.now(UTC) + timedelta(days=9))
    guide.merge_guide(GuideDocument(entries=(made,)))
    return made


def all_of_it(place: Path) -> Start:
    """A run that adds entries after two landings and at its end, uses one, and contradicts one."""
    guide = begin_repository(place)
    for name in ("used", "wrong", "kept"):
        make_entry(guide, place, name)
    base = git(place / "repo", "rev-parse", "HEAD")
    objection = [{"entry": "wrong", "evidence": "change", "why": "it is another way"}]
    findings = [{"id": name, "met": True, "evidence": "the receipts of gate"} for name in ("goal", "gate")]
    planned = [{"claim": "the planner has learnt this", "evidence": base}]
    items = [
        plans("root", {"key": "one"}, {"key": "two", "depends_on": ["one"]}),
        writes("one", "one.txt", "one\n"),
        ends("one", learned=[{"claim": "one is learnt", "evidence": "change", "scope": "*.txt"}], used=["used"]),
        accepts("one", "one:1:1"),
        writes("two", "two.txt", "two\n"),
        ends("two", learned=[{"claim": "two is learnt", "evidence": "change"}], contradicted=objection),
        accepts("two", "two:1:1", "two:1:2"),
        uses("planner", "root", "finish", summary="done", learned=planned),
        uses("judge", "root", "submit_verdict", decision="done", findings=findings, accepted=["root:2:1"]),
    ]
    return start_run(place, "learn", items)


def describe_guide(guide: GuideFile, journal: Path) -> list[tuple[object, ...]]:
    """All that a guide holds after its only run, without what differs from run to run: ids, commits, times."""
    state, document = read_state(journal), guide.read_guide()
    return sorted([*_iterate_entries(document, state), *_iterate_ended(document, state)], key=str)


def _iterate_entries(document: GuideDocument, state: RunState) -> Iterator[tuple[object, ...]]:
    for one in document.entries:
        is_mine = one.author.run == state.run.run
        name = (one.author.task, one.author.attempt, one.author.number) if is_mine else one.id
        used = one.used_at and one.used_at == state.run.started_at
        lasts = one.expires_at - state.run.started_at == timedelta(days=90)
        yield "entry", name, one.claim, one.scope, _name_evidence(one.evidence, state), used, lasts, one.is_pinned


def _iterate_ended(document: GuideDocument, state: RunState) -> Iterator[tuple[object, ...]]:
    for one in document.ended:
        is_mine = (one.run, one.at) == (state.run.run, state.run.started_at)
        yield "ended", one.entry, one.cause, one.why, is_mine, one.evidence and _name_evidence(one.evidence, state)


def _name_evidence(evidence: EntryEvidence, state: RunState) -> str:
    for name in state.tasks:
        if name != ROOT_TASK and find_landed_commit(state, state.tasks[TaskId(name)]) == evidence.id:
            return f"landing of {name}"
    return "base" if evidence.id == state.run.base else evidence.label
