"""The plan of a migration, as data, as JSON (`orchestrate.inventory/2`) and as lines for a person."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from orchestrator.domain.event.migration import FoundFile
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import Shard, SitePlace
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.step import Step
from orchestrator.domain.recipe.verify import Invariant
from orchestrator.domain.text.listing import limit_lines
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.migrate.scope.planning import UNOWNED
from orchestrator.migrate.sharding.sampling import plan_wave_sizes
from orchestrator.migrate.sharding.shards import SAMPLE_SHARD
from orchestrator.report.migration.full_report import ReportedInvariant
from orchestrator.report.read_model import Document, ReadModel


class InventoryFile(ReadModel):
    """A file in scope, with all its sites."""

    path: str
    sites: int
    weight: float
    owner: str
    places: tuple[SitePlace, ...]


class SiteKindCount(ReadModel):
    """A kind of site: in how many files it is, and how often."""

    site: str
    files: int
    sites: int


class OwnerCount(ReadModel):
    """The files of an owner that have something to do."""

    owner: str
    files: int
    sites: int


class DirectoryCount(ReadModel):
    """The files of a directory that have something to do."""

    directory: str
    files: int
    sites: int


class PlannedShard(ReadModel):
    """Files that land as one commit."""

    name: str
    owner: str
    files: tuple[str, ...]


class PlannedStep(ReadModel):
    """A step of the ladder, and the files that it takes."""

    id: str
    kind: str
    when: str


class PlannedCheck(ReadModel):
    """A check, and when it is run."""

    id: str
    level: str
    run: str


class InventoryDocument(Document, schema="orchestrate.inventory/2"):
    """The output of `migrate plan`: what is in scope, how it is divided, and how it would be changed and tested."""

    migration: str
    revision: str
    base: str
    sites: int
    weight: float
    files: tuple[InventoryFile, ...]
    by_site: tuple[SiteKindCount, ...]
    by_owner: tuple[OwnerCount, ...]
    by_directory: tuple[DirectoryCount, ...]
    sample: tuple[str, ...]
    shards: tuple[PlannedShard, ...]
    waves: tuple[int, ...]
    steps: tuple[PlannedStep, ...]
    checks: tuple[PlannedCheck, ...]
    invariants: tuple[ReportedInvariant, ...]
    notices: tuple[str, ...]


_SHOWN = 12
_CHARS = 160


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
        """The files that go first; none where all go together."""
        if self.recipe.is_one_wave:
            return ()
        return next((shard.files for shard in self.shards if shard.name == SAMPLE_SHARD), ())

    @property
    def waves(self) -> tuple[int, ...]:
        """The number of shards that each wave after the sample has."""
        if self.recipe.is_one_wave:
            return (len(self.shards),) if self.shards else ()
        return plan_wave_sizes(sum(shard.name != SAMPLE_SHARD for shard in self.shards), self.recipe.sample)

    def count_sites_by(self, key: Callable[[FoundFile], str]) -> Iterator[tuple[str, int, int]]:
        """Yield each value of the key, how many files with something to do have it, and their sites.

        Most files first.
        """
        working = {path for shard in self.shards for path in shard.files}
        files: Counter[str] = Counter()
        sites: Counter[str] = Counter()
        for file in self.files:
            if file.path in working:
                files[key(file)] += 1
                sites[key(file)] += file.sites
        for name, count in sorted(files.items(), key=lambda item: (-item[1], item[0])):
            yield name, count, sites[name]

    def count_kinds(self) -> Iterator[tuple[str, int, int]]:
        """Yield each kind of site, in how many files it is, and how often."""
        files: Counter[str] = Counter()
        sites: Counter[str] = Counter()
        for file in self.files:
            counts = Counter(place.site for place in file.places)
            files.update(counts.keys())
            sites.update(counts)
        for site in self.recipe.work_scope.site:
            yield site.id, files[site.id], sites[site.id]

    def build_document(self) -> InventoryDocument:
        """Return what --json prints."""
        recipe = self.recipe
        values = {
            "migration": recipe.migration.id,
            "revision": recipe.revision,
            "weight": sum(file.weight for file in self.files),
            "by_site": _name_counts("site", self.count_kinds()),
            "by_owner": _name_counts("owner", self.count_sites_by(_get_owner)),
            "by_directory": _name_counts("directory", self.count_sites_by(_get_directory)),
            "steps": recipe.step,
            "checks": recipe.verify.check,
            "invariants": recipe.dump_values().get("invariant", ()),
        }
        for name in ("base", "sites", "files", "sample", "shards", "waves", "notices"):
            values[name] = getattr(self, name)
        return InventoryDocument.model_validate(values, from_attributes=True)

    def render_lines(self, shows_all: bool = False) -> Iterator[str]:
        """Yield lines for a person; long lists end with how many more there are, unless all are wanted."""
        limit = len(self.files) + len(self.shards) if shows_all else _SHOWN
        counted = f", {self.sites} sites" if self.recipe.work_scope.site else ""
        yield f"{self.recipe.title}: {len(self.files)} files in scope{counted} at {self.base[:12]}"
        for notice in self.notices:
            yield f"  note: {notice}"
        yield from _render_table("sites", self.count_kinds(), limit)
        if any(file.owner for file in self.files):
            yield from _render_table("owners", self.count_sites_by(_get_owner), limit)
        yield from _render_table("directories", self.count_sites_by(_get_directory), limit)
        yield from _render_list("sample", self.sample, limit)
        yield from self._render_shards(limit)
        for step in self.recipe.step:
            yield f"step {step.id} ({step.kind}, when {step.when}): {_describe_step(step)}"
        for check in self.recipe.verify.check:
            yield f"check {check.id} (level {check.level}): {check.run}"
        for rule in self.recipe.invariant:
            yield f"invariant {rule.kind} (level {rule.level}){_describe_invariant(rule)}"
        most_first = sorted(self.files, key=lambda file: (-file.sites, file.path))
        yield from _render_list("files", list(map(_describe_file, most_first)), limit)

    def _render_shards(self, limit: int) -> Iterator[str]:
        if not self.shards:
            yield "shards: none, as no file has anything to do"
            return
        lines = []
        for shard in self.shards:
            owner = f", {shard.owner}" if shard.owner else ""
            lines.append(f"{shard.name}: {len(shard.files)} files{owner}")
        yield from _render_list("shards", lines, limit)
        if self.waves:
            after = " after the sample" if self.sample else ""
            yield f"waves of {', '.join(map(str, self.waves))} shards{after}"


def _name_counts(key: str, rows: Iterable[tuple[str, int, int]]) -> tuple[dict[str, object], ...]:
    return tuple({key: name, "files": files, "sites": sites} for name, files, sites in rows)


def _get_owner(file: FoundFile) -> str:
    return file.owner


def _get_directory(file: FoundFile) -> str:
    return str(PurePosixPath(file.path).parent)


def _describe_step(step: Step) -> str:
    match step.kind:
        case "command":
            text = f"{step.run} (per {step.per})"
        case "rewrite":
            text = f"{step.engine}: {step.rule or f'{step.pattern} becomes {step.rewrite}'}"
        case "llm":
            text = f"{step.role}, {step.attempts} attempts"
        case "human":
            text = "a person"
    return to_one_line(text, _CHARS)


def _describe_invariant(rule: Invariant) -> str:
    keys = rule.model_dump(mode="json", exclude_defaults=True, exclude={"kind", "level"})
    words = ", ".join(f"{key} = {value}" for key, value in keys.items())
    return f": {to_one_line(words, _CHARS)}" if words else ""


def _describe_file(file: FoundFile) -> str:
    return f"{file.sites:5}  {file.path}" if file.sites else f"       {file.path}"


def _render_table(title: str, rows: Iterator[tuple[str, int, int]], limit: int) -> Iterator[str]:
    lines = []
    for name, files, sites in rows:
        counted = f", {sites} sites" if sites else ""
        lines.append(f"{name or UNOWNED}: {files} files{counted}")
    return _render_list(title, lines, limit)


def _render_list(title: str, lines: Sequence[str], limit: int) -> Iterator[str]:
    if not lines:
        return
    yield f"{title} ({len(lines)}):"
    for line in limit_lines(lines, limit, "and {count} more (--all shows them)"):
        yield f"  {line}"
