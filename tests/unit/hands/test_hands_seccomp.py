"""The filter as a program, run by a small packet filter machine of ours for kinds of machines that we are not."""

import errno
import struct
from typing import Any

import pytest

from orchestrator.hands.seccomp.bpf_filter import SYSCALL_RULES, SyscallRule, build_filter_program
from orchestrator.hands.seccomp.engine_profile import tighten_profile
from orchestrator.hands.seccomp.syscalls import AARCH64, X86_64, MachineArchitecture

ALLOWED = 0
MACHINES = [X86_64, AARCH64]


def verdict(code: bytes, audit: int, number: int, *arguments: int) -> int:
    """The error a call is refused with, 0 if it is allowed."""
    data = struct.pack("=IIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    held, place = 0, 0
    while True:
        kind, if_true, if_false, operand = struct.unpack_from("=HBBI", code, 8 * place)
        place += 1
        if kind == 0x20:
            (held,) = struct.unpack_from("=I", data, operand)
        elif kind == 0x06:
            return ALLOWED if operand == 0x7FFF0000 else operand & 0xFFFF
        else:
            holds = {0x15: held == operand, 0x35: held >= operand, 0x45: bool(held & operand)}[kind]
            place += if_true if holds else if_false


@pytest.mark.parametrize("machine", MACHINES)
def test_every_rule_holds_on_every_machine_that_has_the_call(machine: MachineArchitecture) -> None:
    code = build_filter_program(machine)
    for rule in (rule for rule in SYSCALL_RULES if rule.argument is None and rule.call in machine.numbers):
        assert verdict(code, machine.audit, machine.numbers[rule.call]) == rule.error


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_that_no_rule_names_are_allowed(machine: MachineArchitecture) -> None:
    code = build_filter_program(machine)
    named = {machine.numbers[rule.call] for rule in SYSCALL_RULES if rule.call in machine.numbers}
    assert {verdict(code, machine.audit, number) for number in range(470) if number not in named} == {ALLOWED}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("call", "arguments", "expected"),
    [
        ("ioctl", (0, 0x5401), ALLOWED),
        ("ioctl", (0, 0x5412), errno.EPERM),
        ("ioctl", (0, 0x541C), errno.EPERM),
        ("ioctl", (0, 0xFFFF_0000_0000_5412 & (1 << 64) - 1), errno.EPERM),
        ("socket", (1, 1), ALLOWED),
        ("socket", (2, 1), ALLOWED),
        ("socket", (10, 2), ALLOWED),
        ("socket", (16, 3), ALLOWED),
        ("socket", (17, 3), errno.EAFNOSUPPORT),
        ("socket", (38, 5), errno.EAFNOSUPPORT),
        ("socket", (40, 1), errno.EAFNOSUPPORT),
        ("socketpair", (1, 1), ALLOWED),
        ("socketpair", (40, 1), errno.EAFNOSUPPORT),
        ("clone", (0x3D0F00,), ALLOWED),
        ("clone", (0x10000000 | 17,), errno.EPERM),
        ("clone", (0x40000000 | 17,), errno.EPERM),
        ("unshare", (0x400,), ALLOWED),
        ("unshare", (0x20000,), errno.EPERM),
        ("unshare", (0x80,), errno.EPERM),
        ("fchmod", (3, 0o1777), ALLOWED),
        ("fchmod", (3, 0o4755), errno.EPERM),
        ("fchmodat", (0, 0, 0o2755), errno.EPERM),
        ("fchmodat2", (0, 0, 0o6000, 0), errno.EPERM),
        ("mknodat", (0, 0, 0o104755, 0), errno.EPERM),
        ("mknodat", (0, 0, 0o010644, 0), ALLOWED),
        ("openat", (0, 0, 0o101, 0o4755), errno.EPERM),
        ("openat", (0, 0, 0o20000002, 0o2755), errno.EPERM),
        ("openat", (0, 0, 0o101, 0o666), ALLOWED),
        ("openat", (0, 0, 0, 0o6777), ALLOWED),
    ],
)
def test_arguments_decide(machine: MachineArchitecture, call: str, arguments: tuple[int, ...], expected: int) -> None:
    assert verdict(build_filter_program(machine), machine.audit, machine.numbers[call], *arguments) == expected


def entry_error(entries: list[dict[str, Any]], call: str, arguments: tuple[int, ...]) -> set[int]:
    """Every error that entries of a container's profile have for a call, 0 for one that allows it."""
    found = set()
    for entry in (entry for entry in entries if call in entry["names"]):
        tests = entry.get("args", [])
        if all(arguments[test["index"]] & test["value"] == test["valueTwo"] for test in tests):
            found.add(entry.get("errnoRet", ALLOWED))
    return found


ODD = (
    0,
    1,
    2,
    3,
    9,
    10,
    11,
    16,
    17,
    40,
    44,
    0x5411,
    0x5412,
    0x5413,
    0x541B,
    0x541C,
    0x541D,
    0x80,
    1 << 31,
    (1 << 32) - 1,
)


@pytest.mark.parametrize("rule", SYSCALL_RULES, ids=lambda rule: rule.call)
def test_a_container_is_refused_exactly_what_a_bubblewrap_is(rule: SyscallRule) -> None:
    """Also with bits in the upper half, at which the kernel does not look; and never is there more than one answer."""
    entries, code = tighten_profile({"syscalls": []})["syscalls"], build_filter_program(X86_64)
    for value in (value | high for value in (*ODD, 0x10000000, 0x7E020080, 0x3D0F00) for high in (0, 1 << 40)):
        arguments = (value,) * 4
        found = entry_error(entries, rule.call, arguments)
        if rule.call in X86_64.numbers:
            assert found == {verdict(code, X86_64.audit, X86_64.numbers[rule.call], *arguments)}, hex(value)
        else:
            assert found == {rule.error}


def test_every_call_has_one_rule() -> None:
    calls = [rule.call for rule in SYSCALL_RULES]
    assert len(calls) == len(set(calls))
    assert not [rule.call for rule in SYSCALL_RULES if rule.values and rule.bits]


def test_calls_of_another_machine_or_convention_are_unknown() -> None:
    code = build_filter_program(X86_64)
    i386, getpid = 0x40000003, 39
    assert verdict(code, X86_64.audit, getpid) == ALLOWED
    assert verdict(code, i386, getpid) == errno.ENOSYS
    assert verdict(code, X86_64.audit, 0x40000000 + getpid) == errno.ENOSYS
    assert verdict(build_filter_program(AARCH64), X86_64.audit, getpid) == errno.ENOSYS


def test_a_call_that_a_machine_lacks_needs_no_rule() -> None:
    assert len(build_filter_program(AARCH64, [SyscallRule("iopl", errno.EPERM)])) == len(
        build_filter_program(AARCH64, [])
    )
    assert len(build_filter_program(X86_64)) // 8 < 4096  # the kernel's own limit
