"""Every landing that a journal tells of, held against the receipts before it and against git."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from orchestrator.domain.event.landing import LandingFinished, TrialJudged
from orchestrator.domain.event.run import BaselineRecorded, CheckFinished, CheckReused, RunStarted
from orchestrator.domain.judging.check import Receipt, ReceiptStatus
from orchestrator.errors import JournalProblem
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.journal.storage.event_reader import EventReader

_KINDS = ("run.started", "baseline.recorded", "check.finished", "check.reused", "trial.judged", "landing.finished")
_KEPT_ASIDE = re.compile(r"damaged-\d+")
"""Where `repair` puts what it could not read."""
_Looks = tuple[int, int, int, int]


class LandingWatch:
    """Looks through the journals that tests leave below a directory, each again whenever it has changed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._looked_into: set[str] = set()
        self._journals: dict[Path, _Looks | None] = {}

    def problems(self, may_be_damaged: bool) -> list[str]:
        """What is wrong with the landings of all journals that are new or have changed since the last call.

        Args:
            may_be_damaged: whether a journal that cannot be read is what the test is about.
        """
        self._journals |= dict.fromkeys(self._new())
        return [problem for journal in self._changed() for problem in _of(journal, may_be_damaged)]

    def forget(self) -> None:
        """Look no more into the journals that are known, because nobody will write to them."""
        self._journals.clear()

    def _new(self) -> Iterator[Path]:
        for entry in list(os.scandir(self._root)):
            if entry.name not in self._looked_into and entry.is_dir(follow_symlinks=False):
                self._looked_into.add(entry.name)
                yield from _journals_below(entry.path)

    def _changed(self) -> Iterator[Path]:
        for journal, before in list(self._journals.items()):
            if (now := _looks(journal)) is None:
                del self._journals[journal]
            elif now != before:
                self._journals[journal] = now
                yield journal


def _journals_below(place: str) -> Iterator[Path]:
    for folder, inside, files in os.walk(place):
        inside[:] = [name for name in inside if name != ".git" and not _KEPT_ASIDE.fullmatch(name)]
        if "journal.db" in files:
            yield Path(folder, "journal.db")


def _looks(journal: Path) -> _Looks | None:
    """Size and age of the file and of what SQLite has not yet folded into it; None if it is gone."""
    try:
        main = journal.stat()
    except OSError:
        return None
    wal = journal.with_name("journal.db-wal")
    rest = wal.stat() if wal.exists() else None
    more = (rest.st_size, rest.st_mtime_ns) if rest and rest.st_size else (0, 0)  # readers leave an empty one
    return main.st_size, main.st_mtime_ns, *more


def _of(journal: Path, may_be_damaged: bool) -> list[str]:
    try:
        return [f"{journal}: {problem}" for problem in landing_problems(journal)]
    except JournalProblem as error:
        return [] if may_be_damaged else [f"{journal} cannot be read, which no marker of the test announces: {error}"]


def landing_problems(journal: Path) -> Iterator[str]:
    """In words, every landing of a journal whose tree no green run of the gate stands for, or that git does not have.

    Raises:
        JournalProblem: the journal cannot be read.
    """
    run: RunStarted | None = None
    baseline: tuple[str, ...] = ()
    receipts: dict[str, Receipt] = {}
    green: set[str] = set()
    landings: list[LandingFinished] = []
    reader = EventReader.open_reader(journal)
    try:
        for recorded in reader.read_kinds(_KINDS):
            match recorded.event:
                case RunStarted() as started:
                    run = started
                case BaselineRecorded(receipts=keys):
                    baseline = keys
                case CheckFinished(receipt=receipt) | CheckReused(receipt=receipt):
                    receipts[receipt.key] = receipt
                case TrialJudged() as trial if trial.difference.is_green:
                    green.add(trial.tree)
                case LandingFinished() as landing:
                    landings.append(landing)
                    yield from _without_receipts(landing, baseline, receipts, green)
    finally:
        reader.close()
    if run is not None and landings:
        yield from _not_in_git(_repository_of(journal, run), run.branch, landings)


def _repository_of(journal: Path, run: RunStarted) -> Path:
    """Where the commits are: a run that has travelled went on in another clone than the one that it began in.

    The state of a repository is named after it; the clone is looked for beside the state's directory and above.
    """
    named, (kept_for, *places) = Path(run.repository), journal.parents[2:6]
    beside = (entry for place in places for entry in place.iterdir() if (entry / ".git").exists())
    return next((one for one in (named, *beside) if StateDirectory.locate_for(one).path.name == kept_for.name), named)


def _without_receipts(
    landing: LandingFinished, baseline: tuple[str, ...], receipts: dict[str, Receipt], green: set[str]
) -> Iterator[str]:
    where = f"landing {landing.new[:12]} of {', '.join(landing.units)}"
    checks = {receipts[key].check for key in baseline}
    completed = {one.check for one in receipts.values() if _stands_for(one, landing.tree)}
    if not checks:  # neither a goal nor a recipe begins without a gate
        yield f"{where}: the gate had no baseline"
    if missing := checks - completed:
        yield f"{where}: no completed receipt of {', '.join(sorted(missing))} has its tree {landing.tree}"
    if landing.tree not in green:
        yield f"{where}: the gate was not green on its tree {landing.tree}"


def _stands_for(receipt: Receipt, tree: str) -> bool:
    return receipt.tree == tree and receipt.status == ReceiptStatus.COMPLETED


def _not_in_git(repository: Path, branch: str, landings: list[LandingFinished]) -> Iterator[str]:
    """Landings whose commit holds another tree; git may have lost a commit only together with the branch."""
    if not (repository / ".git").exists():
        return
    trees = _git(repository, "rev-parse", *(f"{landing.new}^{{tree}}" for landing in landings)).split()
    if len(trees) < len(landings):
        found = [_git(repository, "rev-parse", "--verify", "--quiet", f"{one.new}^{{tree}}") for one in landings]
        is_there = bool(_git(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"))
        trees = [tree.strip() or ("nowhere" if is_there else str(landings[at].tree)) for at, tree in enumerate(found)]
    for landing, tree in zip(landings, trees, strict=True):
        if tree != landing.tree:
            yield f"landing {landing.new[:12]}: in git its tree is {tree}, not {landing.tree}"


def _git(repository: Path, *words: str) -> str:
    """What git prints, and nothing where it fails."""
    done = subprocess.run(["git", *words], cwd=repository, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""
