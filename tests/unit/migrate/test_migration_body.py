"""The pull request of a migration: names and reasons stand in it as text."""

from datetime import UTC, datetime

from orchestrator.domain.event.run import Noticed, RunStarted
from orchestrator.domain.ids import CommitId, RunId, TreeId
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.migration_state import MigrationState
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.state import RunState
from orchestrator.migrate.landing.pr_body import render_migration_body
from tests.running import migrated

RECIPE = Recipe.model_validate(
    {
        "schema": 1,
        "migration": {"id": "x", "description": "For @everyone, fixes #1"},
        "scope": {"include": ["*.py"]},
        "step": [{"id": "a", "run": "a `b`\nc {files}"}],
        "verify": {"check": [{"id": "t", "run": "test"}]},
    }
)


def state(*files: FileRecord) -> RunState:
    started = RunStarted(
        run=RunId("r"),
        mode="migration",
        goal="x",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        repository="/r",
        base=CommitId("b" * 40),
        base_tree=TreeId("c" * 40),
        branch="migrate/x/r",
        target="main",
        settings={},
    )
    return RunState(started=started, migration=MigrationState(files={file.path: file for file in files}))


def file(path: str, status: FileStatus, reason: str = "", signature: str = "") -> FileRecord:
    return FileRecord(path=path, base="d", mode="100644", status=status, reason=reason, signature=signature)


def test_names_and_commands_cannot_leave_their_code_spans() -> None:
    body = render_migration_body(
        state(file("a`<b>`.py", FileStatus.MERGED), file("x.py", FileStatus.MERGED)), RECIPE, "done"
    )
    assert "- `` a`<b>`.py ``\n- `x.py`" in body
    assert "- `a`: `` a `b` c {files} `` (per file)" in body


def test_reasons_are_one_inert_line_each_and_alike_ones_are_counted() -> None:
    why = "breaks\n- [x] @me \x1b[31m<img>"
    rejected = [file(name, FileStatus.REJECTED, why, "broken") for name in ("a.py", "b.py")]
    body = render_migration_body(state(*rejected), RECIPE, "none")
    assert "- `a.py`: breaks - [x] @\u200bme [31m&lt;img>\n" in body
    assert "### Not landed, reasons alike (1)\n\n- 2 files: broken" in body
    assert "@everyone" not in body


def test_a_body_names_an_earlier_run_that_waits_and_no_other_notice() -> None:
    told = state(file("a.py", FileStatus.MERGED))
    text = "an earlier run of this migration, r0, has landed 1 of these files on migrate/x/r0 (@me)"
    earlier = Noticed(level="warning", text=text, code=NoticeCode.EARLIER_RUN, subject="r0")
    told.notices = (earlier, Noticed(level="info", text="something else"))
    body = render_migration_body(told, RECIPE, "done")
    assert (
        "Note: an earlier run of this migration, r0, has landed 1 of these files on migrate/x/r0 (@\u200bme)." in body
    )
    assert "something else" not in body


def test_a_body_tells_how_far_it_is_what_to_look_at_what_held_and_how_the_recipe_changed() -> None:
    body = render_migration_body(migrated.told(), Recipe.model_validate(migrated.RECIPE), "some landed")
    assert "**57 sites → 33**, 3 of 8 files landed" in body
    assert "| UNCOVERED | 1 | `lib/test_f.py` |" in body
    assert "### Invariants\n\n- sites-at-most: site `self-assert`" in body
    assert "### Revisions of the recipe\n\n- 2: `0badcafe` by ann, 1 file done again" in body
    assert "- `tail`: a model as worker, for what had failed\n- `hand`: a person, for what had failed" in body
    assert "### Rolled back (1)\n\n- `lib/test_e.py`: rolled back: it was too early" in body
