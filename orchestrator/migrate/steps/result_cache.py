"""Results of steps that are already known: a step is not run again on what it has been run on before.

There is no store of its own. Every result stands in some run's journal as the event that told of it, under a key that
names everything the result rests on; contents are blobs of the repository. What git no longer has is no result.

A key holds the step (all but when it is taken), what its program says of its version, the environment of the sandbox,
the files of the repository that the step's line names or that the recipe says it reads, and the file: its content and
its whole path, because a program sees the path it is given, and may look around itself from there.
"""

import hashlib
import json
import re
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from anyio import Lock, to_thread
from pathspec import GitIgnoreSpec

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.migration.files import FailureKind, FileStatus
from orchestrator.domain.recipe.step import TransformStep
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.engine.context import RunContext
from orchestrator.errors import OrchestrateError
from orchestrator.journal.journal import Journal
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.migrate.sites.ast_grep import locate_ast_grep
from orchestrator.migrate.steps.file_outcomes import FileProblem, restore_file
from orchestrator.migrate.steps.step_io import StepInput
from worktrees.git import Git
from worktrees.object_store.packs import find_existing_objects

_DESIGN = 2
"""Raised when a step comes to do its work in another way."""
_RUNS = 50
_ASSIGNED = compile_lazily(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_PROGRAM = compile_lazily(r"[A-Za-z0-9_./+-]+")


def parse_program(run: str) -> str:
    """Return the first word of a command line that is no assignment; empty if that is no plain name."""
    word = next((word for word in _split_words(run) if not _ASSIGNED.fullmatch(word)), "")
    return word if _PROGRAM.fullmatch(word) else ""


def _split_words(run: str) -> list[str]:
    found = shlex.shlex(run, posix=True, punctuation_chars=True)
    found.commenters = ""
    with suppress(ValueError):
        return list(found)
    return run.split()


def select_input_files(step: TransformStep, tree: Mapping[str, str]) -> dict[str, str]:
    """Return the files of the repository that decide a step's result beside the one it works on: path → blob.

    These are the ones that its line names, programs and settings, and those that `reads` says; all files, if it is
    given the repository as a whole.
    """
    if step.takes_tree:
        return dict(tree)
    if step.kind != "command":
        return {}
    spec = GitIgnoreSpec.from_lines(step.reads)
    named = {word.removeprefix("./") for word in _split_words(step.run)}
    found = {}
    for path, oid in tree.items():
        if path in named or (step.reads and spec.match_file(path)):
            found[path] = oid
    return found


@dataclass(frozen=True)
class ResultKeys:
    """Names of results of one step: a name is a hash of everything the result rests on."""

    step: TransformStep
    version: str
    environment: str
    others: Mapping[str, str]

    def build_file_key(self, path: str, blob: str) -> str:
        """Return the key of what a step makes of a file by itself."""
        return self._build_key([[path, blob]])

    def build_shard_keys(self, files: Sequence[tuple[str, str]]) -> list[str]:
        """Return the keys of what it makes of each of these files (path, blob) when it gets them at once."""
        whole = self._build_key(sorted(map(list, files)))
        return [_hash_value([whole, path]) for path, _ in files]

    def _build_key(self, files: list[list[str]]) -> str:
        settings: dict[str, object] = {
            "id": self.step.id,
            "timeout_s": self.step.timeout_s,
            "idempotent": self.step.idempotent,
            "max_passes": self.step.max_passes,
        }
        others = sorted(self.others.items())
        python = list(sys.version_info[:2])  # it says what parses
        settings |= self.step.dump_result_settings()
        return _hash_value([_DESIGN, python, settings, self.version, self.environment, others, files])


def _hash_value(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class CachedResult:
    """The known result of a step for a file: a new blob, or a failure with its reason.

    Neither if it changed nothing.
    """

    blob: str = ""
    tried: str = ""
    reason: str = ""
    signature: str = ""
    failure: FailureKind | None = None

    @classmethod
    def from_event(cls, moved: Mapping[str, Any]) -> "CachedResult":
        """Return the result that an event's body tells."""
        if reason := moved.get("reason"):
            signature, failure = moved.get("signature", ""), moved.get("failure")
            return cls("", moved.get("tried") or "", reason, signature, FailureKind(failure) if failure else None)
        if moved["status"] == FileStatus.TRANSFORMED:
            return cls(blob=moved.get("blob") or "")
        return cls()

    def build_event(self, given: StepInput, rung: int) -> FileMoved:
        """Return the event that tells of it anew."""
        event = FileMoved(path=given.path, status=given.file.status, rung=rung, cache_key=given.key, is_cached=True)
        if self.reason:
            return restore_file(event, FileProblem(self.failure, self.reason, self.signature), self.tried or None)
        if self.blob and self.blob != given.blob:
            return event.model_copy(update={"status": FileStatus.TRANSFORMED, "blob": self.blob})
        return event.model_copy(update={"blob": given.file.blob})


class StepCache:
    """Results by key; those of a run are taken in while it goes on."""

    def __init__(self, results: Mapping[str, CachedResult] | None = None) -> None:
        self._results = dict(results or {})

    @classmethod
    def from_runs(cls, runs: Iterable[RunDirectory]) -> "StepCache":
        """Return what the newest of these runs of one repository know; an unreadable journal knows nothing. Blocks."""
        results: dict[str, CachedResult] = {}
        for run in list(runs)[-_RUNS:]:
            with suppress(OrchestrateError):
                results |= _read_results(run.journal)
        return cls(results)

    def record_results(self, events: Iterable[FileMoved]) -> None:
        """Remember what was just recorded."""
        for event in events:
            if event.cache_key:
                self._results[event.cache_key] = CachedResult.from_event(event.model_dump(mode="json"))

    async def find_results(self, git: Git, keys: Collection[str]) -> dict[str, CachedResult]:
        """Return the known results whose contents git still has, by key."""
        found = {key: self._results[key] for key in keys if key in self._results}
        wanted = set()
        for result in found.values():
            wanted |= {result.blob, result.tried}
        known = {"", *await find_existing_objects(git, sorted(wanted - {""}))}
        return {key: result for key, result in found.items() if {result.blob, result.tried} <= known}


def _read_results(journal: Path) -> dict[str, CachedResult]:
    reader = EventReader.open_reader(journal)
    try:
        results = {}
        for body in map(json.loads, reader.read_bodies("file.moved", '"cache_key"')):
            results[body["cache_key"]] = CachedResult.from_event(body)
        return results
    finally:
        reader.close()


@dataclass
class ProcessCache:
    """Facts that hold while one process works on one run. `earlier_runs` are runs of the repository that lie elsewhere.

    `versions` has what a program in an environment (by its hash) says of its version.
    """

    earlier_runs: Sequence[RunDirectory] = ()
    cache: StepCache | None = None
    versions: dict[tuple[str, str], str] = field(default_factory=dict)
    _turn: Lock = field(default_factory=Lock)

    async def load_results(self, context: RunContext) -> StepCache:
        """Return the results by key, from all runs of the repository, this one included."""
        async with self._turn:
            if self.cache is None:
                runs = [*self.earlier_runs, *StateDirectory(context.directory.path.parent.parent).list_runs()]
                self.cache = await to_thread.run_sync(StepCache.from_runs, runs)
            return self.cache

    def record_results(self, events: Sequence[FileMoved]) -> None:
        """Remember what was just recorded."""
        if self.cache is not None:
            self.cache.record_results(events)


_KNOWN: WeakKeyDictionary[Journal, ProcessCache] = WeakKeyDictionary()


def get_process_cache(context: RunContext) -> ProcessCache:
    """Return what this process knows, for as long as it has the run's journal open."""
    return _KNOWN.setdefault(context.journal, ProcessCache())


def find_step_program(step: TransformStep) -> str:
    """Return the program that does the step's work; empty if it is no plain name, or the step needs none."""
    if step.kind == "command":
        return parse_program(step.run)
    if step.runs_in_process:
        return ""
    return str(locate_ast_grep())
