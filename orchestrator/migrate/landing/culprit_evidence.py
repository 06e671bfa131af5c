"""Prime suspects of a red test: by what its failure names, by the test's name, by what it imports."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.judging.symptoms import GATE_SYMPTOM, get_symptom_test
from orchestrator.judge.reports.failure_signature import extract_failure_passage
from orchestrator.migrate.judging.narrow_checks import find_test_file
from orchestrator.migrate.sharding.import_graph import PYTHON_SUFFIXES
from orchestrator.migrate.sharding.javascript_imports import parse_script_imports
from orchestrator.migrate.sharding.python_imports import ModuleIndex, parse_python_imports
from orchestrator.ports.gate import GateResult
from orchestrator.ports.ledger import Ledger
from worktrees.git import Git
from worktrees.object_store.trees import list_tree, read_blobs

_MOST_PRIMES = 12
"""More units than this are no hint: a file that everything imports points at everything."""
_MOST_READ = 40
_LAST_LINES = 3
_WORD = re.compile(r"[\w-]+")
_TEST_NAME = re.compile(r"\Atests?[_-]|[_.-](?:tests?|spec)\Z|Tests?\Z", re.IGNORECASE)


class SourceEvidence:
    """Evidence from the output of a red run and the sources of its tests: a `SuspectEvidence`."""

    def __init__(self, git: Git, ledger: Ledger) -> None:
        self._git = git
        self._ledger = ledger

    async def find_prime_suspects(
        self, commit: CommitId, result: GateResult, symptoms: Sequence[str], units: Sequence[UnitId]
    ) -> Mapping[str, Sequence[UnitId]]:
        """Return the prime suspects of each symptom, strongest evidence only; none where it would be too many."""
        output = await self._read_output(result)
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

    async def _read_output(self, result: GateResult) -> str:
        receipts = self._ledger.state.receipts
        if result.receipts:
            return await self._ledger.read_text(receipts[result.receipts[-1]].output)
        return ""


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
        modules = ModuleIndex([unit for unit in units if unit.endswith(PYTHON_SUFFIXES)])
        imported, _ = parse_python_imports(path, source, modules)
    else:
        imported = parse_script_imports(path, source, frozenset(units))
    return [unit for unit in units if unit in imported]
