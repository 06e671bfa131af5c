"""The events of a migration that never was: two owners, a sample and a sweep, a revision, a rollback, odd names."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.landing import LandedPart, LandingFinished
from orchestrator.domain.event.migration import (
    FileMoved,
    FilesFlagged,
    FilesFound,
    FoundFile,
    RecipeRevised,
    ShardReverted,
    ShardsPlanned,
    WaveEnded,
    WaveStarted,
)
from orchestrator.domain.event.run import EngineStarted, PrOpened, RunEnded, RunStarted
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.ids import CommitId, RunId, TreeId, UnitId
from orchestrator.domain.migration.files import FileStatus, Shard, SitePlace
from orchestrator.domain.run.state import RunState

DAY = datetime(2026, 1, 1, tzinfo=UTC)
RECIPE: dict[str, Any] = {
    "schema": 1,
    "migration": {"id": "asserts", "title": "Plain <asserts>", "deadline": "2026-01-02"},
    "scope": {"include": ["*.py"], "site": [{"id": "self-assert", "pattern": "self.assert", "target": 1}]},
    "shard": {"depth": 1},
    "step": [
        {"id": "codemod", "run": "codemod {files}"},
        {"id": "tail", "kind": "llm", "when": "failed", "prompt": "p"},
        {"id": "hand", "kind": "human", "when": "failed"},
    ],
    "verify": {"check": [{"id": "t", "run": "test"}]},
    "invariant": [{"kind": "sites-at-most", "site": "self-assert"}],
}
WHY = "'ExceptionInfo' object has no attribute 'exception'"
ODD = "=cmd|' /C calc'!A1\x1b[31m<img src=x>"
"""Words that a terminal, a page and a spreadsheet would each act on."""


def begun(recipe: dict[str, Any] = RECIPE) -> list[Event]:
    """A run with its first process."""
    started = RunStarted(
        run=RunId("r1"),
        mode="migration",
        goal="asserts",
        started_at=DAY,
        repository="/r",
        base=CommitId("b" * 40),
        base_tree=TreeId("c" * 40),
        branch="migrate/asserts/r1",
        target="main",
        settings={},
        recipe=recipe,
    )
    return [started, EngineStarted(epoch=1, pid=1, host="h", version="1")]


def found(path: str, sites: int, owner: str = "") -> FoundFile:
    """A file with so many sites, one a line."""
    places = tuple(SitePlace(site="self-assert", line=line) for line in range(1, sites + 1))
    return FoundFile(
        path=path, blob=f"b{path}", mode="100644", sites=sites, places=places, weight=float(sites), owner=owner
    )


def moved(path: str, status: FileStatus, rung: int = 0, **fields: Any) -> FileMoved:
    """One move; what stands there is a content of its own."""
    blob = f"n{path}" if status in {FileStatus.TRANSFORMED, FileStatus.MERGED} else None
    return FileMoved(path=path, status=status, rung=rung, blob=blob, **fields)


def lands(shard: str, *paths: str, rung: int = 0, left: int = 0, **fields: Any) -> list[Event]:
    """A shard's files are transformed and land."""
    units = tuple(UnitId(path) for path in paths)
    commit = CommitId(f"{shard:0>40}")
    part = LandedPart(name=shard, commit=commit, units=units)
    finished = LandingFinished(
        key=f"land/{shard}~0", branch="x", new=commit, tree=TreeId("t"), units=units, parts=(part,)
    )
    return [
        *(moved(path, FileStatus.TRANSFORMED, rung, left=left, seconds=1.5, **fields) for path in paths),
        finished,
        *(moved(path, FileStatus.MERGED, rung, left=left) for path in paths),
    ]


def story() -> list[Event]:
    """The whole, up to where some files still climb."""
    files = [
        *(found(f"app/test_{name}.py", 10, "@core") for name in "abcd"),
        *(found(f"lib/test_{name}.py", 5, "@lib") for name in "efg"),
        *(found("odd/-x.py", 2), found("none.py", 0)),
    ]
    fails = {"reason": f"breaks 1 test: {WHY}", "signature": WHY}
    return [
        *begun(),
        FilesFound(files=tuple(files)),
        ShardsPlanned(
            shards=(
                Shard(name="sample", files=("app/test_a.py", "lib/test_e.py")),
                Shard(name="app", files=("app/test_b.py", "app/test_c.py", "app/test_d.py"), owner="@core"),
                Shard(name="lib", files=("lib/test_f.py", "lib/test_g.py"), owner="@lib"),
            )
        ),
        moved("none.py", FileStatus.NOTHING_TO_DO),
        WaveStarted(number=1, wave="sample", shards=("sample",)),
        *lands("sample", "app/test_a.py", "lib/test_e.py"),
        WaveEnded(number=1),
        WaveStarted(number=2, wave="sweep", shards=("app", "lib")),
        *(moved(path, FileStatus.TRANSFORMED) for path in ("app/test_c.py", "app/test_d.py")),
        *(moved(path, FileStatus.EJECTED, **fails) for path in ("app/test_c.py", "app/test_d.py")),
        *lands("app", "app/test_b.py", left=1),
        *lands("lib", "lib/test_f.py", rung=1, attempt=2),
        FilesFlagged(flag="UNCOVERED", paths=("lib/test_f.py",)),
        PrOpened(key="pr/0~0", forge="local", ref="1", url="https://forge.invalid/1", group="@core", branch="g"),
        RecipeRevised(recipe=RECIPE, revision="0badcafe", redo=("app/test_c.py",), by="ann"),
        ShardReverted(shard="sample", commit="d" * 40, reason="it was too early"),
        moved("lib/test_e.py", FileStatus.REVERTED, reason="rolled back: it was too early"),
        moved("odd/-x.py", FileStatus.RESTORED, reason=ODD, signature=ODD),
        moved("odd/-x.py", FileStatus.REJECTED, reason=ODD, signature=ODD),
    ]


def recorded(events: Sequence[Event], every_s: float = 10.0) -> list[RecordedEvent]:
    """The events at a steady pace."""
    return [RecordedEvent(seq, DAY + timedelta(seconds=seq * every_s), event) for seq, event in enumerate(events, 1)]


def told(*more: Event) -> RunState:
    """The state after the story, and what else happened."""
    return fold_events(recorded([*story(), *more]))


END = RunEnded(outcome="partial", reason="4 files landed, 3 did not", exit=3, head=CommitId("e" * 40))
