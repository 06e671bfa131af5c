"""The system call filter of a container: what its engine allows, less what makes namespaces and mounts.

An engine's own profile lets a container without rights make a user namespace and have rights in that, which opens parts
of the kernel that commands have no business in.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

from orchestrator.hands.syscalls import CREATING_FLAGS, MODE_CALLS, SET_ID_BITS, ModeCall

_DENIED = (
    *("unshare", "setns", "mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "pivot_root"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "chroot", "keyctl", "add_key", "request_key", "bpf"),
    *("perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register"),
)
_ABSENT = ("clone3", "openat2")
"""Not known, so that libraries take another call: what these ask for cannot be seen."""

_OURS = frozenset((*_DENIED, *_ABSENT, "clone", *MODE_CALLS))
_NAMESPACES = 0x7E020000
"""Every CLONE_NEW… flag that clone takes."""

_EPERM, _ENOSYS = 1, 38


def tightened(profile: dict[str, Any]) -> dict[str, Any]:
    """A profile in the format of OCI engines, with our rules in place of theirs."""
    theirs = [_without(rule) for rule in profile["syscalls"]]
    ours = [
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [_masked(0, _NAMESPACES, 0)]},
        {"names": list(_ABSENT), "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
        {"names": list(_DENIED), "action": "SCMP_ACT_ERRNO", "errnoRet": _EPERM},
        *(rule for call, place in MODE_CALLS.items() for rule in _mode_rules(call, place)),
    ]
    return {**profile, "syscalls": [*(rule for rule in theirs if rule["names"]), *ours]}


def _mode_rules(call: str, place: ModeCall) -> Iterator[dict[str, Any]]:
    """Yield rules that refuse a call with set-id bits in the mode it gives a file, and allow it otherwise."""
    yield {"names": [call], "action": "SCMP_ACT_ALLOW", "args": [_masked(place.mode, sum(SET_ID_BITS), 0)]}
    refused: dict[str, Any] = {"names": [call], "action": "SCMP_ACT_ERRNO", "errnoRet": _EPERM}
    if place.flags is None:
        for bit in SET_ID_BITS:
            yield refused | {"args": [_masked(place.mode, bit, bit)]}
        return
    yield {"names": [call], "action": "SCMP_ACT_ALLOW", "args": [_masked(place.flags, sum(CREATING_FLAGS), 0)]}
    for flag, bit in product(CREATING_FLAGS, SET_ID_BITS):
        yield refused | {"args": [_masked(place.flags, flag, flag), _masked(place.mode, bit, bit)]}


def _masked(index: int, mask: int, value: int) -> dict[str, Any]:
    return {"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


def _without(rule: dict[str, Any]) -> dict[str, Any]:
    return {**rule, "names": [name for name in rule["names"] if name not in _OURS]}
