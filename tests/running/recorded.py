"""Runs by the real engine whose journals hold a bit of everything, for what only reads journals."""

from pathlib import Path

import anyio

from orchestrator.domain.run.state import RunState
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.state.derivation import read_state
from tests.running.goals import Bench, task
from tests.running.migrating import SED, Migrated, recipe, words
from tests.running.projects import calculator
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, worker_ends, writes


def goal_run(root: Path) -> RunDirectory:
    """A branch with two tasks that clash, one of which lands at its second try, one that lands at once, one that a
    reviewer rejects, and one that hangs on that.
    """
    bench = Bench(root, calculator(root / "repo"))
    old = "    return a + b\n"
    items = [
        plans(
            "root",
            {"key": "maths", "kind": "branch"},
            {"key": "notes", "acceptance": ["there are notes"]},
            {"key": "risky"},
            {"key": "after", "depends_on": ["risky"]},
        ),
        plans("maths", {"key": "left"}, {"key": "right"}),
        edits("maths/left", "calc.py", "def add(a, b):\n", "def add(a, b):  # left\n"),
        worker_ends("maths/left"),
        reviews("maths/left"),
        edits("maths/right", "calc.py", "def add(a, b):\n", "def add(a, b):  # right\n"),
        worker_ends("maths/right"),
        reviews("maths/right"),
        *(edits(f"maths/{side}", "calc.py", old, f"    return a + b  # {side}\n") for side in ("left", "right")),
        *(worker_ends(f"maths/{side}") for side in ("left", "right")),
        *(reviews(f"maths/{side}") for side in ("left", "right")),
        planner_ends("maths"),
        writes("notes", "notes.txt", "notes\n"),
        worker_ends("notes"),
        reviews("notes", points=1),
        writes("risky", "risky.txt", "risky\n"),
        worker_ends("risky"),
        reviews("risky", "reject", "it drops the TLS path"),
        planner_ends(),
        judges(),
    ]
    return anyio.run(lambda: bench.run(*items)).directory


def small_run(root: Path) -> RunDirectory:
    """One task that lands."""
    bench = Bench(root, calculator(root / "repo"))
    return anyio.run(lambda: bench.run(plans("root", {"key": "a"}), *task("a"), planner_ends(), judges())).directory


def migration_run(root: Path) -> RunDirectory:
    """Three directories of texts: most land, one file breaks a test, one has a word that no step can change."""
    repository = words(
        root / "repo",
        {
            **{f"app/{name}.txt": f"old {name} old" for name in "abc"},
            **{f"lib/{name}.txt": f"old {name}" for name in "de"},
            "lib/wrong.txt": "old guilty",
            "odd/x.txt": "old x",
        },
    )
    steps = [{"run": SED + " && sed -i s/guilty/wrong/ {files}"}]
    migrated = Migrated(repository)
    return anyio.run(lambda: migrated.run(recipe(*steps))).directory


def state_of(directory: RunDirectory) -> RunState:
    """The run as it stands."""
    return read_state(directory.journal)
