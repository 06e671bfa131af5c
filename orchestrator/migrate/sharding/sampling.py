"""The sample of files that are tried first, and the sizes of the waves after it."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.recipe.shard import Sample
from orchestrator.domain.text.suggestions import suggest_names
from orchestrator.errors import UsageProblem
from orchestrator.migrate.sharding.shards import build_blocks


def choose_sample(files: Sequence[FileRecord], sample: Sample, pairs: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the paths of the sample, sorted.

    What is paired with a chosen file comes along, so they may be more than asked.

    Which are chosen depends on the files and the seed alone, and a file more changes the choice little.

    Args:
        files: what may be chosen.
        sample: the recipe's rules.
        pairs: the pairs of the recipe's `[shard]`.

    Raises:
        UsageProblem: a path of the list is none of the files.
    """
    paths = [file.path for file in files]
    if sample.pick == "list":
        chosen = _choose_listed(paths, sample)
    elif sample.pick == "random":
        chosen = sorted(paths, key=lambda path: _draw_lot(sample.seed, path))[: sample.files]
    else:
        chosen = _choose_stratified(files, sample)
    wanted: set[str] = set()
    for block in build_blocks(paths, pairs):
        if not set(chosen).isdisjoint(block):
            wanted.update(block)
    return tuple(sorted(wanted))


def plan_wave_sizes(shards: int, sample: Sample) -> tuple[int, ...]:
    """Return how many shards each wave after the sample takes until none is left: `first * growth ** n`."""
    sizes, size = [], float(sample.first)
    while shards > 0:
        sizes.append(min(shards, int(size)))
        shards -= sizes[-1]
        size = min(size * sample.growth, 1e9)
    return tuple(sizes)


def _choose_listed(paths: Sequence[str], sample: Sample) -> Sequence[str]:
    known = set(paths)
    for path in sample.paths:
        if path not in known:
            hint = suggest_names(path, paths, "it is not in scope, or has no site")
            text = f"{path!r} is no file that the migration would work on: {hint}"
            raise UsageProblem(text, ("sample", "paths", path))
    return sample.paths


def _choose_stratified(files: Sequence[FileRecord], sample: Sample) -> list[str]:
    """Choose files that differ in size, directory and kinds of sites.

    Always one of which the sample has least as yet.
    """
    left = {}
    for file in sorted(files, key=lambda file: _draw_lot(sample.seed, file.path)):
        left[file.path] = _list_traits(file)
    seen: Counter[str] = Counter()
    chosen: list[str] = []
    while left and len(chosen) < sample.files:
        path = min(left, key=lambda path: sum(seen[trait] for trait in left[path]))
        seen.update(left.pop(path))
        chosen.append(path)
    return chosen


def _list_traits(file: FileRecord) -> tuple[str, ...]:
    """Return size, directory and kinds of sites.

    The size counts in powers of two, and by sites: what there is to do.
    """
    kinds = "+".join(sorted({place.site for place in file.places}))
    return f"size {file.sites.bit_length()}", f"in {PurePosixPath(file.path).parent}", f"sites {kinds}"


def _draw_lot(seed: int, path: str) -> bytes:
    return hashlib.sha256(f"{seed} {path}".encode()).digest()
