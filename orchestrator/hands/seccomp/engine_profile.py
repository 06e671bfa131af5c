"""The system call filter of a container: what its engine allows, less what `SYSCALL_RULES` refuse.

An engine's own profile lets a container make user namespaces, open sockets that no network namespace holds back, and
speak to the kernel as a program of 32 bits, whose calls carry their arguments where no filter sees them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.hands.seccomp.bpf_filter import SYSCALL_RULES, SyscallRule

_ALL_BITS = 0xFFFFFFFF
"""The kernel looks at the lower half of these arguments alone."""

_WIDTH = 32

ArgumentPattern = tuple[int, int]
"""A mask, and what an argument has to be under it."""


def tighten_profile(profile: dict[str, Any], rules: Sequence[SyscallRule] = SYSCALL_RULES) -> dict[str, Any]:
    """Return a profile in the format of OCI engines, with our rules in place of theirs and for this machine alone."""
    our_calls = frozenset(rule.call for rule in rules)
    entries = []
    for theirs in profile["syscalls"]:
        names = [name for name in theirs["names"] if name not in our_calls]
        if names:
            entries.append({**theirs, "names": names})
    for rule in rules:
        entries.extend(_iterate_entries(rule))
    machines = [{**machine, "subArchitectures": []} for machine in profile.get("archMap") or ()]
    return {**profile, "archMap": machines, "syscalls": entries}


def _iterate_entries(rule: SyscallRule) -> Iterator[dict[str, Any]]:
    """Yield the entries of one rule. Their patterns never overlap, as engines disagree on which of two counts."""
    refusal = {"names": [rule.call], "action": "SCMP_ACT_ERRNO", "errnoRet": rule.error}
    if rule.argument is None:
        yield refusal
        return
    permission: dict[str, Any] = {"names": [rule.call], "action": "SCMP_ACT_ALLOW"}
    contexts: list[list[dict[str, Any]]] = [[]]
    if rule.flags is not None:
        argument, bits = rule.flags
        yield {**permission, "args": [_build_comparison(argument, (bits, 0))]}
        contexts = [[_build_comparison(argument, pattern)] for pattern in _iterate_bit_patterns(bits)]
    allowed, refused = _split_patterns(rule)
    for context in contexts:
        for pattern in allowed:
            yield {**permission, "args": [*context, _build_comparison(rule.argument, pattern)]}
        for pattern in refused:
            yield {**refusal, "args": [*context, _build_comparison(rule.argument, pattern)]}


def _build_comparison(argument: int, pattern: ArgumentPattern) -> dict[str, Any]:
    return {"index": argument, "value": pattern[0], "valueTwo": pattern[1], "op": "SCMP_CMP_MASKED_EQ"}


def _split_patterns(rule: SyscallRule) -> tuple[list[ArgumentPattern], list[ArgumentPattern]]:
    """Return what is allowed and what is refused of an argument."""
    if rule.bits:
        return [(rule.bits, 0)], list(_iterate_bit_patterns(rule.bits))
    named, others = [(_ALL_BITS, value) for value in rule.values], list(_iterate_other_blocks(rule.values, 0, _WIDTH))
    return (named, others) if rule.is_allowed else (others, named)


def _iterate_bit_patterns(bits: int) -> Iterator[ArgumentPattern]:
    mask = 0
    for bit in (1 << place for place in range(_WIDTH) if bits >> place & 1):
        mask |= bit
        yield mask, bit


def _iterate_other_blocks(values: Sequence[int], start: int, width: int) -> Iterator[ArgumentPattern]:
    """Yield the blocks of `2 ** width` numbers from `start` on that together hold all of them but these values."""
    inside = [value for value in values if value >> width == start >> width]
    if not inside:
        yield _ALL_BITS >> width << width, start
    elif width:
        yield from _iterate_other_blocks(inside, start, width - 1)
        yield from _iterate_other_blocks(inside, start + (1 << width - 1), width - 1)
