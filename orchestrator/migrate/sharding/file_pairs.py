"""Files that change together, by the pairs of a recipe: `src/x.py` with `tests/test_x.py`."""

import re
from collections.abc import Iterator, Sequence

from orchestrator.domain.recipe.shard import PAIR_SEPARATOR
from orchestrator.queue.bisection import merge_groups


def build_blocks(paths: Sequence[str], pairs: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the paths in blocks that are never divided, sorted by their first members; most have one path.

    What is paired with one and the same file is in one block. The first member of a block is one that a pattern
    fits, if there is such a one: it stands for the block where blocks are divided by their paths.
    """
    known = set(paths)
    couples = [pair for pair in find_pairs(sorted(known), pairs) if pair[1] in known and pair[0] != pair[1]]
    named = {one for one, _ in couples}
    merged = merge_groups(sorted(known), couples)
    blocks = [sorted(block, key=lambda path: (path not in named, path)) for block in merged]
    return tuple(map(tuple, sorted(blocks)))


def find_pairs(paths: Sequence[str], pairs: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each path that a pattern fits with the path that it is paired with, which need not exist."""
    for pair in pairs:
        pattern, _, template = pair.partition(PAIR_SEPARATOR)
        compiled = re.compile(pattern.strip())
        for path in paths:
            match = compiled.fullmatch(path)
            if match:
                yield path, match.expand(template.strip())
