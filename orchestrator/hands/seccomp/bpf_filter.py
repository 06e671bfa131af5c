"""The rules on system calls behind every backend, and the filter that bubblewrap installs: a program of the kernel's.

It adds what namespaces leave open: kinds of sockets that no network namespace holds back (vsock reaches the host of a
virtual machine), keyrings, calls in which bugs of the kernel were found, typing into a terminal, and user namespaces
where bubblewrap cannot forbid them. The rest of the walls stands without it.
"""

import errno
import platform
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.hands.seccomp import syscalls
from orchestrator.hands.seccomp.syscalls import MachineArchitecture

_LOAD, _SAME_AS, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF_LD|W|ABS, BPF_JMP|…|K, BPF_RET|K
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000

_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag that clone takes
_NEW_TIME = 0x80  # CLONE_NEWTIME, which unshare alone knows; in clone it is a part of the signal
_TYPING = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_SOCKETS = (0, 1, 2, 10, 16)  # unspecified, unix, IPv4, IPv6, netlink; of packet and vsock no test knows


@dataclass(frozen=True)
class SyscallRule:
    """A system call by its name, and the error it is refused with.

    With `argument` that one decides, by its lower 32 bits, which are all that the kernel looks at in these calls: it is
    refused if it is one of `values`, or, where `is_allowed`, if it is none of them; or if it has one of `bits`. With
    `flags` (an argument and bits) it decides only where that argument has one of those bits.
    A call has one rule, and that has either `values` or `bits`.
    """

    call: str
    error: int
    argument: int | None = None
    values: tuple[int, ...] = ()
    bits: int = 0
    is_allowed: bool = False
    flags: tuple[int, int] | None = None


def _build_set_id_rule(call: str) -> SyscallRule:
    """Return the rule that refuses a call which would make a file run as its owner or with its group."""
    mode_call = syscalls.MODE_CALLS[call]
    flags = None if mode_call.flags is None else (mode_call.flags, sum(syscalls.CREATING_FLAGS))
    return SyscallRule(call, errno.EPERM, mode_call.mode, bits=sum(syscalls.SET_ID_BITS), flags=flags)


SYSCALL_RULES: tuple[SyscallRule, ...] = (
    SyscallRule("ioctl", errno.EPERM, 1, _TYPING),
    SyscallRule("socket", errno.EAFNOSUPPORT, 0, _SOCKETS, is_allowed=True),
    SyscallRule("socketpair", errno.EAFNOSUPPORT, 0, _SOCKETS, is_allowed=True),
    SyscallRule("clone", errno.EPERM, 0, bits=_NAMESPACES),
    SyscallRule("unshare", errno.EPERM, 0, bits=_NAMESPACES | _NEW_TIME),
    *map(_build_set_id_rule, syscalls.MODE_CALLS),
    *(SyscallRule(call, errno.ENOSYS) for call in syscalls.HIDDEN_CALLS),
    *(SyscallRule(call, errno.EPERM) for call in syscalls.FORBIDDEN_CALLS),
)


def build_filter_program(machine: MachineArchitecture, rules: Sequence[SyscallRule] = SYSCALL_RULES) -> bytes:
    """Return the filter in the form of bubblewrap's --seccomp: 8 bytes for each instruction, in native byte order.

    Calls of another machine or convention are refused as unknown, those that the machine lacks have no rule.
    """
    return b"".join(struct.pack("=HBBI", *step) for step in _iterate_instructions(machine, rules))


def write_filter(file: Path) -> Path | None:
    """Write this machine's filter to a new file; None where we do not know its calls."""
    machine = syscalls.ARCHITECTURES.get(platform.machine())
    if machine is None:
        return None
    file.write_bytes(build_filter_program(machine))
    return file


BpfInstruction = tuple[int, int, int, int]
"""An instruction: code, how many to skip if true and if false, operand."""


def _iterate_instructions(machine: MachineArchitecture, rules: Sequence[SyscallRule]) -> Iterator[BpfInstruction]:
    unknown = _build_refusal(errno.ENOSYS)
    yield from ((_LOAD, 0, 0, _MACHINE), (_SAME_AS, 1, 0, machine.audit), unknown)
    yield (_LOAD, 0, 0, _NUMBER)
    if machine.foreign_from:
        yield from ((_AT_LEAST, 0, 1, machine.foreign_from), unknown)
    for rule in rules:
        if rule.call in machine.numbers:
            body = tuple(_iterate_rule(rule))
            yield (_SAME_AS, 0, len(body), machine.numbers[rule.call])
            yield from body
    yield (_RETURN, 0, 0, _ALLOW)


def _iterate_rule(rule: SyscallRule) -> Iterator[BpfInstruction]:
    """Yield the instructions that decide on one call; they always return."""
    if rule.argument is None:
        yield _build_refusal(rule.error)
        return
    if rule.flags is not None:
        flags, bits = rule.flags
        yield from (_build_load(flags), (_ANY_BIT, 1, 0, bits), (_RETURN, 0, 0, _ALLOW))
    yield _build_load(rule.argument)
    tests = [(_SAME_AS, value) for value in rule.values] + ([(_ANY_BIT, rule.bits)] if rule.bits else [])
    for remaining, (code, operand) in zip(range(len(tests), 0, -1), tests, strict=True):
        yield (code, remaining, 0, operand)
    allow, refuse = (_RETURN, 0, 0, _ALLOW), _build_refusal(rule.error)
    yield from (refuse, allow) if rule.is_allowed else (allow, refuse)  # where no test held, and where one did


def _build_load(argument: int) -> BpfInstruction:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * argument)  # both machines keep the lower half first


def _build_refusal(error: int) -> BpfInstruction:
    return (_RETURN, 0, 0, _REFUSE | error)
