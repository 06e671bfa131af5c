"""What a migration would work on and how, as data and as lines for a person."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from orchestrator.domain.event.migration import FoundFile
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import Shard
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.migrate.recipe import Invariant, Recipe, Step
from orchestrator.migrate.sharding.sampling import plan_wave_sizes
from orchestrator.migrate.sharding.shards import SAMPLE_SHARD

_SHOWN = 12
_WORDS = 160


@dataclass(frozen=True)
class PlanReport:
    """A recipe with what it finds on its base: the files in scope, their shards in order, and notices."""

    recipe: Recipe
    base: CommitId
    files: tuple[FoundFile, ...]
    shards: tuple[Shard, ...]
    notices: tuple[str, ...]

    @property
    def sites(self) -> int:
        """All sites together."""
        return sum(file.sites for file in self.files)

    @property
    def sample(self) -> tuple[str, ...]:
        """The files that go first."""
        return next((shard.files for shard in self.shards if shard.name == SAMPLE_SHARD), ())

    @property
    def waves(self) -> tuple[int, ...]:
        """How many shards each wave after the sample has."""
        return plan_wave_sizes(sum(shard.name != SAMPLE_SHARD for shard in self.shards), self.recipe.sample)

    def count_sites_by(self, key: Callable[[FoundFile], str]) -> Iterator[tuple[str, int, int]]:
        """What the key says of files, how many files with something to do it says that of, and their sites."""
        working = set()
        for shard in self.shards:
            for path in shard.files:
                working.add(path)
        files: Counter[str] = Counter()
        sites: Counter[str] = Counter()
        for file in self.files:
            if file.path in working:
                files[key(file)] += 1
                sites[key(file)] += file.sites
        return ((name, count, sites[name]) for name, count in sorted(files.items(), key=lambda one: (-one[1], one[0])))

    def count_kinds(self) -> Iterator[tuple[str, int, int]]:
        """Each kind of site, in how many files it is, and how often."""
        for site in self.recipe.work_scope.site:
            counts = []
            for file in self.files:
                counts.append(sum(place.site == site.id for place in file.places))
            yield site.id, sum(count > 0 for count in counts), sum(counts)

    def as_object(self) -> dict[str, Any]:
        """For --json: `orchestrate.inventory/2`."""
        recipe = self.recipe
        return {
            "schema": "orchestrate.inventory/2",
            "migration": recipe.migration.id,
            "revision": recipe.revision,
            "base": self.base,
            "sites": self.sites,
            "weight": sum(file.weight for file in self.files),
            "files": [_file(file) for file in self.files],
            "by_site": [{"site": name, "files": files, "sites": sites} for name, files, sites in self.count_kinds()],
            "by_owner": [
                {"owner": name, "files": files, "sites": sites} for name, files, sites in self.count_sites_by(_owner)
            ],
            "by_directory": [
                {"directory": name, "files": files, "sites": sites}
                for name, files, sites in self.count_sites_by(_directory)
            ],
            "sample": list(self.sample),
            "shards": [{"name": shard.name, "owner": shard.owner, "files": list(shard.files)} for shard in self.shards],
            "waves": list(self.waves),
            "steps": [{"id": step.id, "kind": step.kind, "when": step.when} for step in recipe.step],
            "checks": [{"id": check.id, "level": check.level, "run": check.run} for check in recipe.verify.check],
            "invariants": [rule.model_dump(mode="json", exclude_defaults=True) for rule in recipe.invariant],
            "notices": list(self.notices),
        }

    def render_lines(self, shows_all: bool = False) -> Iterator[str]:
        """For a person; long lists end with how many more there are, unless all are wanted."""
        if shows_all:
            limit = len(self.files) + len(self.shards)
        else:
            limit = _SHOWN
        if self.recipe.work_scope.site:
            counted = f", {self.sites} sites"
        else:
            counted = ""
        yield f"{self.recipe.title}: {len(self.files)} files in scope{counted} at {self.base[:12]}"
        for notice in self.notices:
            yield f"  note: {notice}"
        yield from _table("sites", self.count_kinds(), limit)
        if any(file.owner for file in self.files):
            owners = ((name or "nobody", files, sites) for name, files, sites in self.count_sites_by(_owner))
            yield from _table("owners", owners, limit)
        yield from _table("directories", self.count_sites_by(_directory), limit)
        yield from _list("sample", self.sample, limit)
        yield from self._shards(limit)
        for step in self.recipe.step:
            yield f"step {step.id} ({step.kind}, when {step.when}): {_step(step)}"
        for check in self.recipe.verify.check:
            yield f"check {check.id} (level {check.level}): {check.run}"
        for rule in self.recipe.invariant:
            yield f"invariant {rule.kind} (level {rule.level}){_rule(rule)}"
        most_first = sorted(self.files, key=lambda file: (-file.sites, file.path))
        yield from _list("files", [_counted(file) for file in most_first], limit)

    def _shards(self, limit: int) -> Iterator[str]:
        if not self.shards:
            yield "shards: none, as no file has anything to do"
            return
        told = []
        for shard in self.shards:
            told.append(f"{shard.name}: {len(shard.files)} files{f', {shard.owner}' if shard.owner else ''}")
        yield from _list("shards", told, limit)
        if self.waves:
            yield f"waves of {', '.join(map(str, self.waves))} shards{' after the sample' if self.sample else ''}"


def _file(file: FoundFile) -> dict[str, Any]:
    places = []
    for place in file.places:
        places.append({"site": place.site, "line": place.line, "column": place.column})
    return {"path": file.path, "sites": file.sites, "weight": file.weight, "owner": file.owner, "places": places}


def _owner(file: FoundFile) -> str:
    return file.owner


def _directory(file: FoundFile) -> str:
    return str(PurePosixPath(file.path).parent)


def _step(step: Step) -> str:
    match step.kind:
        case "command":
            told = f"{step.run} (per {step.per})"
        case "rewrite":
            told = f"{step.engine}: {step.rule or f'{step.pattern} becomes {step.rewrite}'}"
        case "llm":
            told = f"{step.role}, {step.attempts} attempts"
        case "human":
            told = "a person"
    return to_one_line(told, _WORDS)


def _rule(rule: Invariant) -> str:
    told = rule.model_dump(mode="json", exclude_defaults=True, exclude={"kind", "level"})
    words = ", ".join(f"{key} = {value}" for key, value in told.items())
    if words:
        return f": {to_one_line(words, _WORDS)}"
    return ""


def _counted(file: FoundFile) -> str:
    if file.sites:
        return f"{file.sites:5}  {file.path}"
    return f"       {file.path}"


def _table(title: str, rows: Iterator[tuple[str, int, int]], limit: int) -> Iterator[str]:
    return _list(
        title, [f"{name}: {files} files{f', {sites} sites' if sites else ''}" for name, files, sites in rows], limit
    )


def _list(title: str, lines: Sequence[str], limit: int) -> Iterator[str]:
    if not lines:
        return
    yield f"{title} ({len(lines)}):"
    for line in lines[:limit]:
        yield f"  {line}"
    if len(lines) > limit:
        yield f"  and {len(lines) - limit} more (--all shows them)"
