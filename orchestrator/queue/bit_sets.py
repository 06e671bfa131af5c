"""Sets of units as bit masks, in landing order."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_


def select_lower_half(members: int) -> int:
    """Return the first half of a set, in landing order; the larger one."""
    wanted, half = (members.bit_count() + 1) // 2, 0
    for one in split_members(members)[:wanted]:
        half |= one
    return half


def split_members(members: int) -> Sequence[int]:
    """Return the sets of one member each, in landing order."""
    found = []
    while members:
        one = members & -members
        found.append(one)
        members ^= one
    return found


def is_subset(part: int, whole: int) -> bool:
    """Return True if `whole` has every member of `part`."""
    return part & ~whole == 0


def union_sets(sets: Iterable[int]) -> int:
    """Return the members of all the sets."""
    return reduce(or_, sets, 0)
