"""The words of memory in briefs: who is told of the field guide and of notes, and by which tools they go on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tools.base import AnyTool
from orchestrator.agent.tools.memory import build_note_tool
from orchestrator.config.layers import load_config
from orchestrator.domain.chat import Role
from orchestrator.domain.event.memory import GuideRead, NoteTaken
from orchestrator.domain.event.run import BaselineRecorded
from orchestrator.domain.event.work import PlanningStarted
from orchestrator.domain.ids import ROOT_TASK, SessionId
from orchestrator.domain.memory.entry import NoteKind
from orchestrator.journal.journal import Journal
from prompts import SHIPPED_PROMPTS
from roles.memory_words import add_memory_words
from tests.running.goal_events import checked
from tests.running.role_bench import open_role_journal
from tests.unit.memory.test_index import entry

CONFIG = load_config(None, environ={}).config


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    """A run that was told two entries, and in which one note was taken."""
    opened = await open_role_journal(tmp_path)
    await opened.append(
        GuideRead(entries=(entry("g1"), entry("g2", "dates are UTC"))),
        NoteTaken(task=ROOT_TASK, note=NoteKind.ENVIRONMENT, text="no network"),
    )
    yield opened
    opened.close()


def open_brief(journal: Journal, role: Role, continues: SessionId | None = None) -> SessionSpec:
    settings = CONFIG.roles.planner
    spec = SessionSpec(
        SessionId("s"), role, ROOT_TASK, settings, "sha", "system", "the task", index_tools(), continues=continues
    )
    return add_memory_words(spec, journal, SHIPPED_PROMPTS, CONFIG.memory, ())


@pytest.mark.parametrize(
    ("role", "is_told", "has_notes"),
    [
        ("planner", True, True),
        ("worker", True, True),
        ("arbiter", True, True),
        ("judge", True, False),
        ("verifier", False, False),
    ],
)
async def test_all_but_verifiers_are_told_the_guide_and_notes_only_who_works(
    journal: Journal, role: Role, is_told: bool, has_notes: bool
) -> None:
    spec = open_brief(journal, role)
    assert ("- g2 [everywhere] dates are UTC" in spec.brief) == is_told
    assert ("- environment (root): no network" in spec.brief) == has_notes
    assert ("the commit that this run began from" in spec.brief) == has_notes
    assert ("search_memory" in spec.tools) == is_told
    assert spec.brief.endswith("the task")


async def test_a_conversation_that_goes_on_is_not_told_again_and_can_search(journal: Journal) -> None:
    spec = open_brief(journal, "worker", SessionId("before"))
    assert (spec.brief, list(spec.tools)) == ("the task", ["search_memory"])


@pytest.mark.parametrize("is_known_before", [True, False])
async def test_a_planner_is_told_of_the_gates_only_where_its_round_began_after_them(
    journal: Journal, is_known_before: bool
) -> None:
    """A first round begins beside the gates: what it is told may not depend on which of the two is faster."""
    known, planning = [checked("k1"), BaselineRecorded(receipts=("k1",))], PlanningStarted(task=ROOT_TASK, round=1)
    await journal.append(*([*known, planning] if is_known_before else [planning, *known]))
    assert ("- k1: " in open_brief(journal, "planner").brief) == is_known_before
    assert "- k1: " in open_brief(journal, "worker").brief


async def use(tool: AnyTool, **arguments: object) -> str:
    return (await tool.run(tool.arguments.model_validate(arguments))).text


async def test_a_search_of_memory_finds_entries_by_their_words(journal: Journal) -> None:
    tool = open_brief(journal, "worker").tools["search_memory"]
    assert (await use(tool, words="UTC dates")).startswith("- g2 [everywhere] dates are UTC (commit ")
    assert await use(tool, words="nowhere") == "no entry of the field guide holds all of these words"


async def test_a_note_is_one_line_and_the_same_note_twice_is_one(journal: Journal) -> None:
    tool = build_note_tool(journal, ROOT_TASK)
    assert await use(tool, kind="progress", text="half\nis done\x1b[2J") == "noted"
    assert await use(tool, kind="progress", text="half\nis done\x1b[2J") == "noted before"
    notes = journal.state.memory.notes
    assert [(note.kind, note.text) for note in notes[1:]] == [("progress", "half is done[2J")]
    assert journal.state.memory.proposals == ()
