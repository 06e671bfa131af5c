"""Files as units of the queue: their commits, their groups, and whom red tests make suspect."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.judging.symptoms import GATE_SYMPTOM, get_symptom_test
from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import sanitize_title
from orchestrator.engine.commits import AGENT_TRAILER
from orchestrator.engine.context import RunContext
from orchestrator.judge.reports.failure_signature import extract_failure_passage
from orchestrator.judge.selection.import_graph import PYTHON_SUFFIXES, parse_script_imports
from orchestrator.judge.selection.python_imports import ModuleIndex, parse_python_imports
from orchestrator.judge.selection.selected_tests import find_test_file
from orchestrator.migrate.models.file_tasks import find_latest_file_task
from orchestrator.migrate.sharding.shards import build_blocks
from orchestrator.ports.gate import GateResult
from orchestrator.ports.ledger import Ledger, read_last_output
from orchestrator.queue.bisection import Units
from orchestrator.queue.composition import OverlayComposer
from orchestrator.queue.culprit_search import SuspectEvidence
from orchestrator.queue.landed_partners import LandedGroups
from orchestrator.queue.lander import TargetedSearchOptions
from worktrees.git import Git
from worktrees.object_store.trees import list_tree, read_blobs

_MOST_PRIMES = 12
"""More units than this are no hint: a file that everything imports points at everything."""
_MOST_READ = 40
_LAST_LINES = 3
_WORD = compile_lazily(r"[\w-]+")
_TEST_NAME = compile_lazily(r"\Atests?[_-]|[_.-](?:tests?|spec)\Z|Tests?\Z", re.IGNORECASE)


class SourceEvidence(SuspectEvidence):
    """Evidence from the output of a red run and the sources of its tests: a `SuspectEvidence`."""

    def __init__(self, git: Git, ledger: Ledger) -> None:
        self._git = git
        self._ledger = ledger

    async def find_prime_suspects(
        self, commit: CommitId, result: GateResult, symptoms: Sequence[str], units: Sequence[UnitId]
    ) -> Mapping[str, Sequence[UnitId]]:
        """Return the prime suspects of each symptom, strongest evidence only; none where it would be too many."""
        output = await read_last_output(self._ledger, result.receipts)
        oids = {entry.path: entry.oid for entry in await list_tree(self._git, commit) if entry.kind == "blob"}
        files = {}
        for symptom in symptoms:
            if symptom != GATE_SYMPTOM:
                files[symptom] = find_test_file(get_symptom_test(symptom), oids)
        paths = sorted(set(filter(None, files.values())))[:_MOST_READ]
        blobs = await read_blobs(self._git, [oids[path] for path in paths])
        found: dict[str, Sequence[UnitId]] = {}
        for symptom in symptoms:
            if symptom == GATE_SYMPTOM:
                found[symptom] = _find_gate_suspects(output, units)
            else:
                file = files[symptom] or ""
                source = blobs[oids[file]] if file in paths else b""
                found[symptom] = _find_test_suspects(get_symptom_test(symptom), file, source, output, units)
        return found


def _find_gate_suspects(output: str, units: Sequence[UnitId]) -> list[UnitId]:
    last = "\n".join(list(filter(str.strip, output.splitlines()))[-_LAST_LINES:])
    return _limit_suspects([*_find_named_units(last, units), *_find_namesakes(_WORD.findall(last), units)])


def _find_test_suspects(test: str, file: str, source: bytes, output: str, units: Sequence[UnitId]) -> list[UnitId]:
    """Return the suspects of one test; `file` is where it stands, `source` its content, both empty if not known."""
    named = _find_named_units(extract_failure_passage(output, test), units)
    words = [*_WORD.findall(test), PurePosixPath(file).stem]
    near = [*(unit for unit in units if unit == file), *named, *_find_namesakes(words, units)]
    return _limit_suspects([*near, *_find_imported_units(source, file, units)]) or _limit_suspects(near)


def _limit_suspects(units: Sequence[UnitId]) -> list[UnitId]:
    """Return the units, each once; none where they are too many to be a hint."""
    found = list(dict.fromkeys(units))
    return found if len(found) <= _MOST_PRIMES else []


def _find_named_units(text: str, units: Sequence[UnitId]) -> Sequence[UnitId]:
    """Return the units whose path stands in a text, such as a traceback."""
    return [unit for unit in units if unit in text]


def _find_namesakes(words: Sequence[str], units: Sequence[UnitId]) -> Sequence[UnitId]:
    """Return the units that tests of these names are for: `test_money` and `money_test` for `money.py`."""
    wanted = {_TEST_NAME.sub("", word) for word in words if _TEST_NAME.search(word)}
    return [unit for unit in units if PurePosixPath(unit).name.partition(".")[0] in wanted]


def _find_imported_units(source: bytes, path: str, units: Sequence[UnitId]) -> Sequence[UnitId]:
    """Return the units among what a source file imports."""
    if path.endswith(PYTHON_SUFFIXES):
        modules = ModuleIndex([source_file for source_file in units if source_file.endswith(PYTHON_SUFFIXES)])
        imported, _ = parse_python_imports(path, source, modules)
    else:
        imported = parse_script_imports(path, source, frozenset(units))
    return [unit for unit in units if unit in imported]


class FileUnits:
    """The units of one run; each is named by its file's path."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._git = context.repository.git

    def build_composer(self, files: Sequence[FileRecord]) -> OverlayComposer:
        """Return a composer that puts files on the branch as the ladder has left them: one commit a shard."""
        changes, expected = {}, {}
        for file in files:
            expected[UnitId(file.path)] = file.branch_blob
            if file.blob is not None:
                changes[UnitId(file.path)] = (file.mode, file.blob)
        return OverlayComposer(
            self._git, changes, self._write_message, self._context.commit_date, self.split_by_shard, expected
        )

    def split_by_shard(self, units: Sequence[UnitId]) -> list[tuple[str, list[UnitId]]]:
        """Return the units by the shards they are in, in the order of the shards."""
        wanted, parts = set(units), []
        for shard in self._context.state.migration.shards.values():
            members = [unit for unit in map(UnitId, shard.files) if unit in wanted]
            if members:
                parts.append((shard.name, members))
        return parts

    def build_targeting(self, units: Sequence[UnitId], *, beside_landed: bool = True) -> TargetedSearchOptions:
        """Return how to search a red union: by what failures and tests point at, with groups that stay together.

        Where `beside_landed`, partners of the guilty are also sought among what landed: a gate that chooses its tests
        by what differs from the base cannot tell of those.
        """
        evidence = SourceEvidence(self._git, self._context.journal)
        groups, reruns = self._group_units(units), self._context.recipe.verify.flaky_reruns
        landed = self._find_landed(units) if beside_landed else None
        return TargetedSearchOptions(evidence, groups=groups, reruns=reruns, landed=landed)

    def _group_units(self, units: Sequence[UnitId]) -> Sequence[Units]:
        """Return the units, those in one group that are accepted or sent back together."""
        rules = self._context.recipe.merge
        if rules.bisect_unit == "shard" or rules.on_red == "reject-shard":
            return [tuple(members) for _, members in self.split_by_shard(units)]
        return [tuple(map(UnitId, block)) for block in build_blocks(units, self._context.recipe.shard.pair)]

    def _find_landed(self, units: Sequence[UnitId]) -> LandedGroups:
        """Return what landed of other files; taken back, such a file is what it was on the base."""
        changes, landed = {}, []
        for file in self._context.state.migration.files.values():
            unit = UnitId(file.path)
            if unit in units:
                if file.blob:
                    changes[unit] = (file.mode, file.blob)
            elif file.landed:
                landed.append(unit)
                changes[unit] = (file.mode, file.base)
        composer = OverlayComposer(self._git, changes, _write_trial_message, self._context.commit_date)
        return LandedGroups(self._group_units(landed), composer)

    def _write_message(self, shard: str, units: Sequence[UnitId]) -> str:
        files = [self._context.state.migration.files[unit] for unit in units]
        rungs = sorted({file.rung for file in files})
        trailers = {
            "Migration-Id": self._context.recipe.migration.id,
            "Recipe-Rev": self._context.recipe.revision,
            "Shard": shard,
            "Rung": ", ".join(self._context.recipe.step[rung].id for rung in rungs),
            "Orchestrate-Run": self._context.state.run.run,
        }
        listed = "\n".join((format_trailers(trailers), *self._list_agent_trailers(files)))
        return f"{sanitize_title(self._context.recipe.title)} ({len(units)} files)\n\n{listed}\n"

    def _list_agent_trailers(self, files: Sequence[FileRecord]) -> list[str]:
        """Return a trailer for each agent that made one of the files, once each; none of a run that names none."""
        state, found = self._context.state, dict[str, None]()
        for file in files:
            step = self._context.recipe.step[file.rung]
            task = find_latest_file_task(state, step, file.path) if step.kind == "llm" else None
            if task is not None and task.identities and state.run.names_agents:
                found[f"{AGENT_TRAILER}: {task.identities[-1].format_trailer()}"] = None
        return list(found)


def format_trailers(trailers: Mapping[str, str]) -> str:
    """Return the trailers of a commit message, one a line."""
    return "\n".join(f"{name}: {value}" for name, value in trailers.items())


def _write_trial_message(_part: str, _units: Sequence[UnitId]) -> str:
    return "A trial\n"
