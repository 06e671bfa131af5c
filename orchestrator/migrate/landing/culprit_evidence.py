"""Who is suspected first of making a test red: by what its failure names, by the test's name, by what it imports."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.judging.symptoms import GATE_SYMPTOM, get_symptom_test
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
_IMPORT = re.compile(
    r"^\s*(?:from\s+(?P<module>[\w.]+)\s+import\s+(?P<names>[\w, \t*()]+)|import\s+(?P<modules>[\w., \t]+))"
    r"|(?:require\(\s*|from\s+|import\s+)['\"](?P<path>[^'\"]+)['\"]",
    re.MULTILINE,
)
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
        """The prime suspects of each symptom, strongest evidence only; none where it would be too many."""
        output = await self._output(result)
        places = {}
        for entry in await list_tree(self._git, commit):
            if entry.kind == "blob":
                places[entry.path] = entry.oid
        files = {}
        for symptom in symptoms:
            if symptom != GATE_SYMPTOM:
                files[symptom] = find_test_file(get_symptom_test(symptom), places)
        read = sorted({path for path in files.values() if path})[:_MOST_READ]
        blobs = await read_blobs(self._git, [places[path] for path in read])
        sources = {}
        for path in read:
            sources[path] = blobs[places[path]].decode("utf-8", "replace")
        return {symptom: list(self._of(symptom, files.get(symptom), sources, output, units)) for symptom in symptoms}

    async def _output(self, result: GateResult) -> str:
        receipts = self._ledger.state.receipts
        if result.receipts:
            return await self._ledger.read_text(receipts[result.receipts[-1]].output)
        return ""

    def _of(
        self, symptom: str, file: str | None, sources: Mapping[str, str], output: str, units: Sequence[UnitId]
    ) -> Sequence[UnitId]:
        if symptom == GATE_SYMPTOM:
            last = "\n".join([line for line in output.splitlines() if line.strip()][-_LAST_LINES:])
            return _few([*_named_in(last, units), *_namesakes(_WORD.findall(last), units)])
        named = _named_in(extract_failure_passage(output, get_symptom_test(symptom)), units)
        itself = [unit for unit in units if unit == file]
        words = [*_WORD.findall(get_symptom_test(symptom)), *([PurePosixPath(file).stem] if file else [])]
        near = [*itself, *named, *_namesakes(words, units)]
        return _few([*near, *find_imported_units(sources.get(file or "", ""), file or "", units)]) or _few(near)


def _few(units: Sequence[UnitId]) -> Sequence[UnitId]:
    found = list(dict.fromkeys(units))
    if len(found) <= _MOST_PRIMES:
        return found
    return ()


def _named_in(text: str, units: Sequence[UnitId]) -> Sequence[UnitId]:
    """The units whose path stands in a text, such as a traceback."""
    return [unit for unit in units if unit in text]


def _namesakes(words: Sequence[str], units: Sequence[UnitId]) -> Sequence[UnitId]:
    """The units that tests of these names are for: `test_money` and `money_test` for `money.py`."""
    wanted = {bare for word in words if (bare := _TEST_NAME.sub("", word)) != word}
    return [unit for unit in units if PurePosixPath(unit).name.partition(".")[0] in wanted]


def find_imported_units(source: str, path: str, units: Sequence[UnitId]) -> Sequence[UnitId]:
    """The units among what a source file imports: Python modules by their dotted names, others by relative path."""
    names = set(_imports(source, path))
    return [unit for unit in units if not names.isdisjoint(_names_of(unit))]


def _imports(source: str, path: str) -> Iterator[str]:
    here = path.split("/")[:-1]
    for match in _IMPORT.finditer(source):
        if match["path"]:
            parts = list(here)
            for part in match["path"].split("/"):
                parts = parts[:-1] if part == ".." else parts if part == "." else [*parts, part]
            yield "/".join(parts)
        elif match["modules"]:
            for word in match["modules"].split(","):
                if word.split():
                    yield word.split()[0].replace(".", "/")
        else:
            yield from _from_import(match["module"], match["names"], here)


def _from_import(module: str, names: str, here: Sequence[str]) -> Iterator[str]:
    dots = len(module) - len(module.lstrip("."))
    above = list(here[: len(here) - dots + 1]) if dots else []
    place = "/".join([*above, *filter(None, module.lstrip(".").split("."))])
    yield place
    for word in _WORD.findall(names):
        yield f"{place}/{word}".lstrip("/")


def _names_of(unit: UnitId) -> Iterator[str]:
    """How a file may be imported: by its path without the ending, without a source root, as its package."""
    if "." in unit.rpartition("/")[2]:
        bare = unit.rpartition(".")[0]
    else:
        bare = str(unit)
    for name in (str(unit), bare, bare.removesuffix("/__init__"), bare.removesuffix("/index")):
        yield from (name, name.removeprefix("src/"), name.removeprefix("lib/"))
