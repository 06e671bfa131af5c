"""System calls that no test needs and that reach past the walls, with their numbers on each kind of machine.

What is left out on purpose: ptrace and process_vm_* (debuggers), seccomp and landlock (programs that fence
themselves in).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class MachineArchitecture:
    """A kind of machine: the kernel's name for it in filters, and its numbers of system calls.

    Calls from `foreign_from` on belong to another convention that the same kernel serves (x32); 0 if there is none.
    """

    audit: int
    numbers: Mapping[str, int]
    foreign_from: int = 0


FORBIDDEN_CALLS = (
    *("add_key", "request_key", "keyctl"),  # keyrings are not divided by namespaces
    *("bpf", "perf_event_open", "userfaultfd"),  # where exploits of the kernel begin
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot"),
    *(
        "mount",
        "umount",
        "umount2",
        "pivot_root",
        "chroot",
        "move_mount",
        "mount_setattr",
        "open_tree",
        "open_tree_attr",
    ),
    *("fsopen", "fsconfig", "fsmount", "fspick", "setns", "open_by_handle_at"),
    *("swapon", "swapoff", "quotactl", "quotactl_fd", "acct", "syslog", "lookup_dcookie", "nfsservctl", "vhangup"),
    *("modify_ldt", "iopl", "ioperm"),
)
"""Refused as not permitted, whatever the arguments."""

HIDDEN_CALLS = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "openat2")
"""Refused as if this kernel did not know them: programs that use them have another way. The
arguments of two of them cannot be seen."""


@dataclass(frozen=True)
class ModeCall:
    """A system call that gives a file a mode, in argument `mode`; `flags` is the one that says if there is a mode."""

    mode: int
    flags: int | None = None


SET_ID_BITS = (0o4000, 0o2000)
"""S_ISUID and S_ISGID: whoever runs the file does so as its owner, or with its group."""

CREATING_FLAGS = (0x40, 0x400000)
"""O_CREAT and O_TMPFILE. Without them the argument for a mode holds whatever was there before."""

MODE_CALLS: Mapping[str, ModeCall] = {
    "chmod": ModeCall(1),
    "fchmod": ModeCall(1),
    "fchmodat": ModeCall(2),
    "fchmodat2": ModeCall(2),
    "creat": ModeCall(1),
    "mknod": ModeCall(1),
    "mknodat": ModeCall(2),
    "open": ModeCall(2, 1),
    "openat": ModeCall(3, 2),
}
"""Not mkdir, of which the kernel takes no such bits."""

# fmt: off
_SAME = {
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "clone3": 435,
    "mount_setattr": 442, "quotactl_fd": 443, "open_tree_attr": 467, "openat2": 437, "fchmodat2": 452,
}
"""Newer calls have one number everywhere."""

X86_64 = MachineArchitecture(
    audit=0xC000003E,
    foreign_from=0x40000000,
    numbers=_SAME | {
        "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
        "kexec_load": 246, "kexec_file_load": 320, "init_module": 175, "finit_module": 313, "delete_module": 176,
        "reboot": 169, "mount": 165, "umount2": 166, "pivot_root": 155, "setns": 308, "open_by_handle_at": 304,
        "swapon": 167, "swapoff": 168, "quotactl": 179, "acct": 163, "syslog": 103, "lookup_dcookie": 212,
        "nfsservctl": 180, "vhangup": 153, "modify_ldt": 154, "iopl": 172, "ioperm": 173, "chroot": 161,
        "ioctl": 16, "socket": 41, "socketpair": 53, "clone": 56, "unshare": 272,
        "open": 2, "creat": 85, "chmod": 90, "fchmod": 91, "mknod": 133, "openat": 257, "mknodat": 259, "fchmodat": 268,
    },
)

AARCH64 = MachineArchitecture(
    audit=0xC00000B7,
    numbers=_SAME | {
        "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282,
        "kexec_load": 104, "kexec_file_load": 294, "init_module": 105, "finit_module": 273, "delete_module": 106,
        "reboot": 142, "mount": 40, "umount2": 39, "pivot_root": 41, "setns": 268, "open_by_handle_at": 265,
        "swapon": 224, "swapoff": 225, "quotactl": 60, "acct": 89, "syslog": 116, "lookup_dcookie": 18,
        "nfsservctl": 42, "vhangup": 58, "chroot": 51,
        "ioctl": 29, "socket": 198, "socketpair": 199, "clone": 220, "unshare": 97,
        "mknodat": 33, "fchmod": 52, "fchmodat": 53, "openat": 56,
    },
)
# fmt: on

ARCHITECTURES = {"x86_64": X86_64, "aarch64": AARCH64}
"""By `platform.machine()`."""
