"""Which files are tried first, and how many shards go up the ladder together after them."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import PurePosixPath

from orchestrator.domain.migration.files import FileRecord
from orchestrator.errors import UsageProblem
from orchestrator.migrate.recipe import Sample
from orchestrator.migrate.sharding.file_pairs import build_blocks


def choose_sample(files: Sequence[FileRecord], sample: Sample, pairs: Sequence[str] = ()) -> tuple[str, ...]:
    """The paths of the sample, sorted; what is paired with a chosen file comes along, so they may be more than asked.

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
        chosen = _listed(paths, sample)
    elif sample.pick == "random":
        chosen = sorted(paths, key=lambda path: _lot(sample.seed, path))[: sample.files]
    else:
        chosen = _stratified(files, sample)
    wanted = set(chosen)
    return tuple(sorted(path for block in build_blocks(paths, pairs) if wanted & set(block) for path in block))


def plan_wave_sizes(shards: int, sample: Sample) -> tuple[int, ...]:
    """How many shards each wave after the sample takes, so that all of them have their turn: `first * growth ** n`."""
    return tuple(_waves(shards, sample))


def _waves(left: int, sample: Sample) -> Iterator[int]:
    size = float(sample.first)
    while left > 0:
        now = min(left, int(size))
        yield now
        left -= now
        size = min(size * sample.growth, 1e9)


def _listed(paths: Sequence[str], sample: Sample) -> Sequence[str]:
    known = set(paths)
    for path in sample.paths:
        if path not in known:
            near = get_close_matches(path, paths, n=3)
            if near:
                hint = f"did you mean {' or '.join(near)}?"
            else:
                hint = "it is not in scope, or has no site"
            told = f"{path!r} is no file that the migration would work on: {hint}"
            raise UsageProblem(told, ("sample", "paths", path))
    return sample.paths


def _stratified(files: Sequence[FileRecord], sample: Sample) -> list[str]:
    """Files that differ in size, directory and kinds of sites: always one of which the sample has least as yet."""
    left = {}
    for file in sorted(files, key=lambda file: _lot(sample.seed, file.path)):
        left[file.path] = _traits(file)
    seen: Counter[str] = Counter()
    chosen: list[str] = []
    while left and len(chosen) < sample.files:
        path = min(left, key=lambda path: sum(seen[trait] for trait in left[path]))
        seen.update(left.pop(path))
        chosen.append(path)
    return chosen


def _traits(file: FileRecord) -> tuple[str, ...]:
    """The size counts in powers of two, and by sites: that is what there is to do in the file."""
    kinds = "+".join(sorted({place.site for place in file.places}))
    return f"size {file.sites.bit_length()}", f"in {PurePosixPath(file.path).parent}", f"sites {kinds}"


def _lot(seed: int, path: str) -> bytes:
    return hashlib.sha256(f"{seed} {path}".encode()).digest()
