"""Going on after damage: the damaged file is kept aside, and a new journal holds every event before the first lost one.

What can be read after it is set aside as well, as text: a journal has no gaps, and what is done again is done on what
git holds, so nothing lands twice.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.journal.damage.salvage import JournalSalvage, salvage_journal
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.state.derivation import apply_read_event
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_reader import parse_row
from orchestrator.journal.storage.event_store import EventStore, write_journal_file
from orchestrator.journal.storage.high_water_mark import HighWaterMark
from orchestrator.journal.storage.problems import DamagedJournal, NewerJournal, UnusableJournalEvent
from worktrees.durable_files import copy_durably, sync_directory, write_durably

_BLOB = compile_lazily(rb'"(?:sha|tests|trace)":"([0-9a-f]{64})"')
_REPORT = "repaired.json"
_WAL_FILES = ("journal.db-wal", "journal.db-shm")
_HEAD = "journal.head"


@dataclass(frozen=True)
class RepairResult:
    """The findings and deeds of a repair.

    `kept` is the last event of the new journal; `lost` are seqs there were and are no more, `set_aside` those that
    could be read and lie in `aside`; both as (first, last). `blobs` maps a lost blob to the events that name it.
    """

    problem: str
    kept: int
    lost: tuple[tuple[int, int], ...]
    set_aside: tuple[tuple[int, int], ...]
    blobs: dict[str, tuple[int, ...]]
    aside: str

    @property
    def is_rewritten(self) -> bool:
        """True if the journal was written anew, not only blobs given up."""
        return bool(self.problem)


def repair_journal(directory: RunDirectory) -> RepairResult | None:
    """Make a run's journal whole again; None if nothing is wrong with it. The caller holds the run's lock.

    Raises:
        TooNew: it is sound, and a newer program wrote it.
        JournalProblem: the new file cannot be written.
    """
    aside = _find_unfinished(directory.path)
    problem = _find_problem(directory.journal) if aside is None else "an earlier repair was cut short"
    if not problem:
        lost = _list_lost_blobs(directory)
        if not lost:
            return None
        aside = _make_aside_directory(directory.path)
        with EventStore.open_reader(directory.journal) as store:
            result = RepairResult("", store.read_last_seq(), (), (), lost, str(aside))
    else:
        aside = aside or _copy_aside(directory)
        result = _rewrite_journal(directory, aside, problem)
    for sha in result.blobs:
        BlobStore(directory.blobs).discard_blob(sha, aside / "blobs")
    _note_repair(directory, result)
    write_durably(aside / _REPORT, json.dumps(asdict(result), indent=1).encode())
    return result


def _find_problem(journal: Path) -> str:
    """Return what keeps a run from going on from a journal: what cannot be read or cannot have happened; else ""."""
    state = RunState()
    try:
        with EventStore.open_reader(journal) as store:
            for recorded in store.read_events():
                apply_read_event(journal, state, recorded)
            return store.find_inner_problem()
    except DamagedJournal as damage:
        return damage.what


def _list_lost_blobs(directory: RunDirectory) -> dict[str, tuple[int, ...]]:
    """Return the blobs that events name and that cannot be read, but for those that were given up before."""
    named: dict[str, list[int]] = {}
    with EventStore.open_reader(directory.journal) as store:
        for seq, *_, body in store.read_rows():
            for sha in set(_BLOB.findall(body)):
                named.setdefault(sha.decode(), []).append(seq)
    blobs = BlobStore(directory.blobs)
    return {sha: tuple(seqs) for sha, seqs in named.items() if not blobs.is_intact(sha)}


def _find_unfinished(place: Path) -> Path | None:
    """Return where a repair that was killed has put the damaged file."""
    found = [path for path in sorted(place.glob("damaged-*")) if not (path / _REPORT).exists()]
    return next((path for path in found if (path / "journal.db").exists()), None)


def _make_aside_directory(place: Path) -> Path:
    number = 1
    while (aside := place / f"damaged-{number}").exists():
        number += 1
    aside.mkdir()
    return aside


def _copy_aside(directory: RunDirectory) -> Path:
    """Copy the damaged file and what belongs to it; the journal itself last, which says that all are there."""
    aside = _make_aside_directory(directory.path)
    for name in (*_WAL_FILES, _HEAD, "journal.db"):
        source = directory.path / name
        if source.exists():
            copy_durably(source, aside / name)
    return aside


def _rewrite_journal(directory: RunDirectory, aside: Path, problem: str) -> RepairResult:
    noted = HighWaterMark(aside / "journal.db").read_seq()
    salvage = salvage_journal(aside / "journal.db", noted)
    usable = _count_usable(aside / "journal.db", salvage)
    if usable < salvage.last_sound_seq:
        salvage = salvage_journal(aside / "journal.db", noted, until=usable)
    set_aside = [found.row[0] for found in salvage.read_later_events()]
    with (aside / "set-aside.jsonl").open("w", encoding="utf-8") as file:
        for found in salvage.read_later_events():
            seq, at, kind, version, *_, body = found.row
            words = {"seq": seq, "at": _decode_text(at), "kind": _decode_text(kind), "v": version}
            file.write(json.dumps(words | {"sound": found.is_sound, "body": _decode_text(body)}) + "\n")
    new = directory.path / "journal.db.repaired"
    write_journal_file(new, salvage.read_sound_rows())
    for name in _WAL_FILES:  # a WAL must not meet the file of another
        (directory.path / name).unlink(missing_ok=True)
    new.replace(directory.journal)
    (directory.path / _HEAD).unlink(missing_ok=True)  # last: until then it is seen that events are missing
    sync_directory(directory.path)
    return RepairResult(
        problem=problem,
        kept=salvage.last_sound_seq,
        lost=find_gaps([salvage.last_sound_seq, *set_aside], noted),
        set_aside=group_consecutive(set_aside),
        blobs=_list_lost_blobs(directory),
        aside=str(aside),
    )


def _count_usable(journal: Path, salvage: JournalSalvage) -> int:
    """Return the last of the kept events from which a run can go on; what a newer program wrote may be usable there."""
    state = RunState()
    try:
        for row in salvage.read_sound_rows():
            apply_read_event(journal, state, parse_row(journal, row))
    except UnusableJournalEvent as unusable:
        return unusable.seq
    except NewerJournal:
        return salvage.last_sound_seq
    return salvage.last_sound_seq


def _note_repair(directory: RunDirectory, result: RepairResult) -> None:
    """Note in the journal itself that it was repaired, if it tells of a run at all."""
    if result.kept == 0:
        return
    with EventStore.open_writer(directory.journal) as store:
        store.claim_writer()
        event = Noticed(level="warning", text=" ".join(describe_repair(result)))
        store.insert_events([RecordedEvent(store.read_last_seq() + 1, datetime.now(UTC), event)])


def describe_repair(result: RepairResult) -> Iterator[str]:
    """Yield what was found and done, for a person."""
    if result.is_rewritten:
        yield f"The journal was damaged: {result.problem}."
        whole = format_spans(((1, result.kept),))
        yield f"{whole} kept." if result.kept else "Not even its first event could be read."
    if result.set_aside:
        yield f"{format_spans(result.set_aside)} set aside, being readable, in {result.aside}/set-aside.jsonl."
    if result.lost:
        yield f"{format_spans(result.lost)} lost."
    for sha, seqs in result.blobs.items():
        numbers = ", ".join(map(str, seqs[:8])) + " …" * (len(seqs) > 8)
        yield f"The long text in blob {sha[:12]} is lost but for its beginning, which stands in event {numbers}."
    if result.is_rewritten:
        yield f"The damaged file is kept in {result.aside}. What has landed is told by git."


def format_spans(spans: Sequence[tuple[int, int]]) -> str:
    """Return `Events 3 to 7, 9 are`, or `Event 9 is`."""
    told = ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in spans)
    if len(spans) > 1 or spans[0][0] != spans[0][1]:
        return f"Events {told} are"
    return f"Event {told} is"


def find_gaps(numbers: Sequence[int], last: int) -> tuple[tuple[int, int], ...]:
    """Return what is missing, as (first, last), between sorted numbers and from them to `last`."""
    pairs = pairwise((*numbers, max(last, numbers[-1]) + 1))
    return tuple((before + 1, after - 1) for before, after in pairs if after - before > 1)


def group_consecutive(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return sorted numbers as (first, last) of each run without gaps."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1] = spans[-1][0], number
        else:
            spans.append((number, number))
    return tuple(spans)


def _decode_text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
