"""A migration's own time: what passes beside the work of its codemod and its gate, on a repository of many files.

    python -m bench.migrate [--files 2000] [--seconds 0.2]

The bound is for 2,000 files: of fewer (BENCH_FILES) the start and the end of a run are a larger part. The codemod
sleeps so long for each file, so that other work on the machine does not count as its own; its work is what it takes by
itself, in a plain shell, measured on some of the files before. Leaves with 1 if the bound is passed, or if a second run
repeats any step.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.event.run import CheckFinished
from orchestrator.journal.storage.event_store import read_all_events

BOUND = 1.25
CODEMOD = "sleep {seconds}; sed -i s/old_name/new_name/"
SAMPLE_FILES = 40
"""On so many files the codemod is measured by itself."""
RECIPE = """schema = 1

[migration]
id = "bench"

[scope]
include = ["pkg/**/*.py"]

[[scope.site]]
id = "old"
pattern = 'old_name'

[[step]]
id = "rename"
run = "{codemod} {{files}}"

[[verify.check]]
id = "unit"
run = "python3 -m unittest -v"

[verify]
report = "unittest"
"""
TEST = """import pathlib
import unittest


class NamesTest(unittest.TestCase):
    def test_every_module_compiles(self):
        for path in pathlib.Path("pkg").rglob("*.py"):
            compile(path.read_text(), str(path), "exec")
"""


def create_repository(root: Path, count: int) -> None:
    """Make a repository of so many small modules in directories of fifty, each with one site, and one test over all."""
    for number in range(count):
        place = root / "pkg" / f"part{number // 50:03}" / f"module{number:05}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        body = "\n".join(f"    total += value * {line}" for line in range(30))
        place.write_text(f"def old_name(value):\n    total = {number}\n{body}\n    return total\n")
    (root / "test_names.py").write_text(TEST)
    (root / ".gitignore").write_text("__pycache__/\n")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        subprocess.run(["git", *words], cwd=root, check=True)


def measure_codemod(root: Path, codemod: str) -> float:
    """Return the seconds that the codemod takes for a file by itself; the files are as before afterwards."""
    paths = sorted(str(path.relative_to(root)) for path in root.glob("pkg/**/*.py"))[:SAMPLE_FILES]
    begun = time.perf_counter()
    for path in paths:
        subprocess.run(["/bin/sh", "-c", f"{codemod} {path}"], cwd=root, check=True)
    each = (time.perf_counter() - begun) / len(paths)
    subprocess.run(["git", "checkout", "-q", "."], cwd=root, check=True)
    return each


def run_migration(root: Path, state: Path, recipe: Path) -> tuple[float, dict[str, Any]]:
    """Return the seconds of one run with everything around it, and what it says of itself."""
    words = ["migrate", "run", str(recipe), "--repo", str(root), "--state", str(state), "--json"]
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    wall = time.perf_counter() - begun
    result: dict[str, Any] = json.loads(done.stdout)
    return wall, result


def read_figures(journal: Path) -> tuple[float, int, int]:
    """Return the seconds in which checks ran, the files that a step was run on, and those whose results were known."""
    events = [recorded.event for recorded in read_all_events(journal)]
    gate = sum(event.receipt.seconds for event in events if isinstance(event, CheckFinished))
    moved = [event for event in events if isinstance(event, FileMoved) and event.cache_key]
    return gate, sum(not event.is_cached for event in moved), sum(event.is_cached for event in moved)


def main() -> None:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=int(os.environ.get("BENCH_FILES", "2000")))
    parser.add_argument("--seconds", type=float, default=0.2)
    given = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as scratch:
        root, state, recipe = (Path(scratch, name) for name in ("repo", "state", "recipe.toml"))
        root.mkdir()
        create_repository(root, given.files)
        codemod = CODEMOD.format(seconds=given.seconds)
        recipe.write_text(RECIPE.format(codemod=codemod))
        each = measure_codemod(root, codemod)
        wall, result = run_migration(root, state, recipe)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        gate, ran, _ = read_figures(Path(result["journal"]))
        again, second = run_migration(root, state, recipe)
        _, repeated, known = read_figures(Path(second["journal"]))
    work = given.files * each / cores
    ratio = wall / (work + gate)
    print(f"{given.files} files, {each:.4f} s each by itself, {cores} cores: {result['outcome']}, {ran} files run")
    print(f"wall {wall:.1f} s, codemod work per core {work:.1f} s, gate {gate:.1f} s")
    cpu = used.ru_utime + used.ru_stime
    print(f"CPU of all processes {cpu:.1f} s; load of the machine {os.getloadavg()[0]:.1f}, which should be its own")
    print(f"again, unchanged: {again:.1f} s, {known} files known, {repeated} run")
    print(f"ratio {ratio:.2f}, bound {BOUND}")
    sys.exit(0 if ratio <= BOUND and repeated == 0 and result["outcome"] == "done" else 1)


if __name__ == "__main__":
    main()
