"""The cache of steps: what a key rests on, and what is taken over from earlier runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.step import CommandStep
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import EventStore
from orchestrator.migrate.steps.result_cache import (
    CachedResult,
    ResultKeys,
    StepCache,
    parse_program,
    select_input_files,
)
from orchestrator.migrate.steps.step_io import StepInput
from tests.running.projects import repository
from worktrees.object_store.trees import write_blob
from worktrees.repositories.repository import GitRepository


def step(**changes: Any) -> CommandStep:
    return CommandStep.model_validate({"id": "s", "run": "tool {files}"} | changes)


def keys(made: CommandStep, version: str = "1", environment: str = "e", **others: str) -> ResultKeys:
    return ResultKeys(made, version, environment, others)


USUAL = keys(step()).build_file_key("a.py", "b")


@pytest.mark.parametrize(
    "other",
    [
        keys(step(run="tool -x {files}")).build_file_key("a.py", "b"),
        keys(step(ok_exit=[0, 1])).build_file_key("a.py", "b"),
        keys(step(must_parse=False)).build_file_key("a.py", "b"),
        keys(step(timeout_s=5)).build_file_key("a.py", "b"),
        keys(step(idempotent=True)).build_file_key("a.py", "b"),
        keys(step(max_passes=2)).build_file_key("a.py", "b"),
        keys(step(), version="2").build_file_key("a.py", "b"),
        keys(step(), environment="f").build_file_key("a.py", "b"),
        keys(step(), **{"settings.cfg": "c"}).build_file_key("a.py", "b"),
        keys(step()).build_file_key("b.py", "b"),
        keys(step()).build_file_key("a.py", "c"),
    ],
)
def test_a_key_is_another_one_whenever_anything_differs_that_the_result_rests_on(other: str) -> None:
    assert other != USUAL


def test_when_a_step_is_taken_is_no_part_of_its_key() -> None:
    assert keys(step(when="failed", on_signature="x")).build_file_key("a.py", "b") == USUAL


@given(st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xyz"), min_size=1), st.randoms())
def test_files_of_a_shard_have_keys_of_their_own_that_rest_on_all_of_them(blobs: dict[str, str], chance: Any) -> None:
    made = keys(step(per="shard"))
    files = list(blobs.items())
    shuffled = chance.sample(files, len(files))
    named = dict(zip(blobs, made.build_shard_keys(files), strict=True))
    assert named == dict(zip(dict(shuffled), made.build_shard_keys(shuffled), strict=True))
    assert len(set(named.values())) == len(files)
    changed = made.build_shard_keys([(files[0][0], "other"), *files[1:]])
    assert not set(changed) & set(named.values())


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("pyupgrade --py38-plus {files}", "pyupgrade"),
        ("A=1 B='x y' python3 -m tool {files}", "python3"),
        (".venv/bin/flynt {files}; true", ".venv/bin/flynt"),
        ("'a tool' {files}", ""),
        ("$TOOL {files}", ""),
        ("sed 's/don't/x/ {files}", "sed"),
        ("{files}", ""),
    ],
)
def test_the_program_that_is_asked_for_its_version_is_the_first_word(line: str, program: str) -> None:
    assert parse_program(line) == program


def test_a_result_rests_on_files_that_the_line_names_and_that_the_recipe_says_it_reads() -> None:
    tree = {"tools/fix.py": "1", "setup.cfg": "2", "pkg/conf.toml": "3", "other.py": "4"}
    named = step(run="python3 ./tools/fix.py --config=x;cat setup.cfg {files}", reads=["pkg/*.toml"])
    assert select_input_files(named, tree) == {"tools/fix.py": "1", "setup.cfg": "2", "pkg/conf.toml": "3"}
    assert select_input_files(step(), tree) == {}


def file(status: FileStatus = FileStatus.DISCOVERED, blob: str | None = None) -> FileRecord:
    return FileRecord(path="a.py", base="base", mode="100644", status=status, blob=blob)


events = st.one_of(
    st.builds(lambda: FileMoved(path="a.py", status=FileStatus.TRANSFORMED, rung=0, blob="new", cache_key="k")),
    st.builds(
        lambda tried: FileMoved(
            path="a.py", status=FileStatus.RESTORED, rung=0, tried=tried, reason="r", signature="s", cache_key="k"
        ),
        st.sampled_from([None, "tried"]),
    ),
    st.builds(lambda: FileMoved(path="a.py", status=FileStatus.DISCOVERED, rung=0, cache_key="k")),
)


@given(events, st.integers(0, 5))
def test_what_is_taken_over_is_what_the_step_would_have_told_of(event: FileMoved, rung: int) -> None:
    again = CachedResult.from_event(event.model_dump(mode="json")).build_event(StepInput(file(), "base", "k"), rung)
    assert again == event.model_copy(update={"rung": rung, "is_cached": True})


def test_a_step_that_changed_nothing_leaves_a_failed_file_as_it_is() -> None:
    unchanged = FileMoved(path="a.py", status=FileStatus.EJECTED, rung=1, blob="failed", cache_key="k")
    again = CachedResult.from_event(unchanged.model_dump(mode="json")).build_event(
        StepInput(file(FileStatus.EJECTED, "failed"), "x"), 2
    )
    assert (again.status, again.blob, again.reason) == (FileStatus.EJECTED, "failed", "")


def journal(place: Path, *moved: FileMoved) -> RunDirectory:
    place.mkdir(parents=True)
    store = EventStore.open_writer(place / "journal.db")
    store.claim_writer()
    now = datetime(2026, 1, 1, tzinfo=UTC)
    store.insert_events([RecordedEvent(number, now, event) for number, event in enumerate(moved, start=1)])
    store.close()
    return RunDirectory(place)


@pytest.mark.damaged_journal
async def test_results_are_read_from_all_journals_and_only_those_count_whose_contents_git_has(tmp_path: Path) -> None:
    git = GitRepository.open(repository(tmp_path / "repo", {"a.py": "x\n"})).git
    blob, gone = await write_blob(git, b"new\n"), "0" * 39 + "1"
    runs = [
        journal(tmp_path / "1", moved("one", blob=blob), moved("lost", blob=gone), moved("", blob=blob)),
        journal(tmp_path / "2", moved("two", status=FileStatus.RESTORED, reason="r", tried=blob)),
        journal(tmp_path / "3", moved("odd", status=FileStatus.RESTORED, reason="r", tried=gone)),
    ]
    (tmp_path / "4").mkdir()
    (tmp_path / "4" / "journal.db").write_text("no journal")
    cache = StepCache.from_runs([*runs, RunDirectory(tmp_path / "4"), RunDirectory(tmp_path / "5")])
    found = await cache.find_results(git, ["one", "lost", "two", "odd", "never", ""])
    assert found == {"one": CachedResult(blob=blob), "two": CachedResult(tried=blob, reason="r")}
    cache.record_results([moved("three"), moved("")])
    assert await cache.find_results(git, ["three", ""]) == {"three": CachedResult()}


def moved(key: str, **changes: Any) -> FileMoved:
    usual = FileStatus.TRANSFORMED if changes.get("blob") else FileStatus.DISCOVERED
    return FileMoved.model_validate({"path": "a.py", "status": usual, "rung": 0, "cache_key": key} | changes)
