"""The system call filter of a container: what its engine allows, less what makes namespaces and mounts.

An engine's own profile lets a container without rights make a user namespace and have rights in that, which opens parts
of the kernel that commands have no business in.
"""

from typing import Any

_DENIED = (
    *("unshare", "setns", "mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "pivot_root"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "chroot", "keyctl", "add_key", "request_key", "bpf"),
    *("perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register"),
)
_OURS = frozenset((*_DENIED, "clone", "clone3"))
_NAMESPACES = 0x7E020000
"""Every CLONE_NEW… flag that clone takes."""

_EPERM, _ENOSYS = 1, 38


def tightened(profile: dict[str, Any]) -> dict[str, Any]:
    """A profile in the format of OCI engines, with our rules in place of theirs."""
    theirs = [_without(rule) for rule in profile["syscalls"]]
    plain = {"index": 0, "value": _NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    ours = [
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [plain]},
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},  # then libraries take clone
        {"names": list(_DENIED), "action": "SCMP_ACT_ERRNO", "errnoRet": _EPERM},
    ]
    return {**profile, "syscalls": [*(rule for rule in theirs if rule["names"]), *ours]}


def _without(rule: dict[str, Any]) -> dict[str, Any]:
    return {**rule, "names": [name for name in rule["names"] if name not in _OURS]}
