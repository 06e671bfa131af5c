"""Prime suspects of a red test: by what its failure names, by the test's name, by what it imports."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.judging.symptoms import GATE_SYMPTOM, get_symptom_test
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports.failure_signature import extract_failure_passage
from orchestrator.migrate.judging.narrow_checks import find_test_file
from orchestrator.ports.gate import GateResult
from orchestrator.ports.ledger import Ledger
from worktrees.git import Git
from worktrees.object_store.trees import list_tree, read_blobs

_MOST_PRIMES = 12
"""More units than this are no hint: a file that everything imports points at everything."""
_MOST_READ = 40
_LAST_LINES = 3
_IMPORT = compile_lazily(
    r"^\s*(?:from\s+(?P<module>[\w.]+)\s+import\s+(?P<names>[\w, \t*()]+)|import\s+(?P<modules>[\w., \t]+))"
    r"|(?:require\(\s*|from\s+|import\s+)['\"](?P<path>[^'\"]+)['\"]",
    re.MULTILINE,
)
_WORD = compile_lazily(r"[\w-]+")
_TEST_NAME = compile_lazily(r"\Atests?[_-]|[_.-](?:tests?|spec)\Z|Tests?\Z", re.IGNORECASE)


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
                source = blobs[oids[file]].decode("utf-8", "replace") if file in paths else ""
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


def _find_test_suspects(test: str, file: str, source: str, output: str, units: Sequence[UnitId]) -> list[UnitId]:
    """Return the suspects of one test; `file` is where it stands, `source` its content, both empty if not known."""
    named = _find_named_units(extract_failure_passage(output, test), units)
    words = [*_WORD.findall(test), PurePosixPath(file).stem]
    near = [*(unit for unit in units if unit == file), *named, *_find_namesakes(words, units)]
    return _limit_suspects([*near, *find_imported_units(source, file, units)]) or _limit_suspects(near)


def _limit_suspects(units: Sequence[UnitId]) -> list[UnitId]:
    """Return the units, each once; none where they are too many to be a hint."""
    found = list(dict.fromkeys(units))
    if len(found) <= _MOST_PRIMES:
        return found
    return []


def _find_named_units(text: str, units: Sequence[UnitId]) -> Sequence[UnitId]:
    """Return the units whose path stands in a text, such as a traceback."""
    return [unit for unit in units if unit in text]


def _find_namesakes(words: Sequence[str], units: Sequence[UnitId]) -> Sequence[UnitId]:
    """Return the units that tests of these names are for: `test_money` and `money_test` for `money.py`."""
    wanted = {_TEST_NAME.sub("", word) for word in words if _TEST_NAME.search(word)}
    return [unit for unit in units if PurePosixPath(unit).name.partition(".")[0] in wanted]


def find_imported_units(source: str, path: str, units: Sequence[UnitId]) -> Sequence[UnitId]:
    """Return the units among what a source file imports.

    Python modules by their dotted names, others by relative path.
    """
    names = set(_list_imports(source, path))
    return [unit for unit in units if not names.isdisjoint(_list_module_names(unit))]


def _list_imports(source: str, path: str) -> Iterator[str]:
    folder = path.split("/")[:-1]
    for match in _IMPORT.finditer(source):
        if match["path"]:
            parts = list(folder)
            for part in match["path"].split("/"):
                if part == "..":
                    parts = parts[:-1]
                elif part != ".":
                    parts.append(part)
            yield "/".join(parts)
        elif match["modules"]:
            for word in match["modules"].split(","):
                if word.split():
                    yield word.split()[0].replace(".", "/")
        else:
            yield from _list_from_import(match["module"], match["names"], folder)


def _list_from_import(module: str, names: str, folder: Sequence[str]) -> Iterator[str]:
    dots = len(module) - len(module.lstrip("."))
    above = folder[: len(folder) - dots + 1] if dots else ()
    place = "/".join([*above, *filter(None, module.lstrip(".").split("."))])
    yield place
    for word in _WORD.findall(names):
        yield f"{place}/{word}".lstrip("/")


def _list_module_names(unit: UnitId) -> Iterator[str]:
    """Yield the names by which a file may be imported: without the ending, without a source root, as its package."""
    bare = str(PurePosixPath(unit).with_suffix(""))
    for name in (str(unit), bare, bare.removesuffix("/__init__"), bare.removesuffix("/index")):
        yield from (name, name.removeprefix("src/"), name.removeprefix("lib/"))
