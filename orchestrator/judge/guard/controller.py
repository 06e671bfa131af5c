"""The controller of a guarded test run: it receives outcomes from a worker process and seals the report of them.

It is never used here: its text goes into the sandbox, before that of `pytest_plugin`. There it runs in the parent of
the process in which pytest goes on, loads nothing of the workspace, and reads the key of the seal after the fork.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import sys
import time
from hashlib import blake2b
from typing import Any

ORDER_DESCRIPTOR = 9
"""The descriptor under which the shell of the check keeps its order: a file in memory."""
KEY_CHARS = 64
_SPENT, _TAKEN = b"-" * KEY_CHARS, b"*" * KEY_CHARS
_KEYS_WAIT_S = 900.0
_NOT_DUMPABLE, _SUBREAPER = 4, 36
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_WORST_FIRST = ("failed", "error", "skipped", "xfailed", "xpassed", "passed")
_MAX_PROBLEMS = 20
_ENDED = {"passed": "passed", "failed": "failed", "skipped": "was skipped"}


class Order:
    """The order of a guarded check: keys of seals, the path of the report, the top of the workspace."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._keys: dict[int, bytes] = {}
        self.key = b""
        self.report_path = ""
        self.root = ""

    def read_paths(self) -> None:
        """Read what is no secret."""
        lines = self._read_content().split(b"\n")
        self.report_path = os.fsdecode(lines[3])
        self.root = os.path.realpath(os.fsdecode(b"\n".join(lines[4:-1])))

    def take_keys(self) -> None:
        """Take all keys, so that no worker can read one; wait while another controller of the same check has them."""
        end = time.monotonic() + _KEYS_WAIT_S
        while time.monotonic() < end:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            slots = self._read_slots()
            fresh = [number for number, slot in enumerate(slots) if slot not in (_SPENT, _TAKEN)]
            if fresh:
                self.key = slots[fresh[0]]
                self._write_slot(fresh[0], _SPENT)
                for number in fresh[1:]:
                    self._keys[number] = slots[number]
                    self._write_slot(number, _TAKEN)
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            if fresh or _TAKEN not in slots:
                return
            time.sleep(0.05)

    def return_keys(self) -> None:
        """Put back the keys that are left, for the next controller of this check."""
        for number, key in self._keys.items():
            self._write_slot(number, key)

    def close_descriptors(self) -> None:
        """Close the order in a process that may not read it."""
        os.close(self._descriptor)
        try:
            if os.readlink(f"/proc/self/fd/{ORDER_DESCRIPTOR}").startswith("/memfd:"):  # noqa: PTH115
                os.close(ORDER_DESCRIPTOR)
        except OSError:
            pass

    def _read_slots(self) -> list[bytes]:
        return self._read_content().split(b"\n")[2].split(b" ")

    def _write_slot(self, number: int, slot: bytes) -> None:
        lines = self._read_content().split(b"\n", 2)
        offset = len(lines[0]) + len(lines[1]) + 2 + number * (KEY_CHARS + 1)
        os.pwrite(self._descriptor, slot, offset)

    def _read_content(self) -> bytes:
        return os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)


def find_order(name: str) -> Order | None:
    """Return the order that begins with the drawn name, from this process or one above it; None if there is none."""
    pid = os.getpid()
    while pid > 0:
        path = f"/proc/{pid}/fd/{ORDER_DESCRIPTOR}"
        try:
            if os.readlink(path).startswith("/memfd:"):  # noqa: PTH115
                descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                if os.pread(descriptor, len(name) + 1, 0) == name.encode() + b"\n":
                    return Order(descriptor)
                os.close(descriptor)
        except OSError:
            pass
        pid = _read_parent(pid)
    return None


def _read_parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


class OutcomeBook:
    """The outcomes of tests as their reports come in, booked as the JUnit report of pytest would tell them."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        self.last_test = ""
        self.started = 0
        self._open: dict[tuple[str, str], str] = {}
        self._times: dict[str, int] = {}

    def start_test(self, node: str) -> None:
        """Book that a test begins."""
        self.last_test = node
        self.started += 1

    def add_report(self, test: str, when: str, outcome: str, is_expected: bool, worker: str) -> None:
        """Book the report of one phase of a test."""
        key, found = (test, worker), ""
        if outcome == "failed":
            found = "failed" if when == "call" else "error"
            if is_expected and when == "call":
                found = "skipped"
        elif outcome == "skipped":
            found = "xfailed" if is_expected else "skipped"
        elif outcome == "passed" and when == "call":
            found = "passed"
        if found:
            self._open[key] = _choose_worst(found, self._open.get(key))
        if when == "teardown":
            self._close_test(test, self._open.pop(key, "passed"))

    def add_collection(self, module: str, outcome: str) -> None:
        """Book that a module could not be collected, or was skipped as a whole."""
        found = {"failed": "error", "skipped": "skipped"}.get(outcome)
        if found:
            self.outcomes[module] = _choose_worst(found, self.outcomes.get(module))

    def close_tests(self) -> None:
        """Book the tests that never ended by what is known of them."""
        for (test, _), outcome in self._open.items():
            self._close_test(test, outcome)
        self._open.clear()

    def _close_test(self, test: str, outcome: str) -> None:
        """Book one test; an id that was there before gets ` #2`, ` #3` and so on."""
        times = self._times.get(test, 0) + 1
        name = test if times == 1 else f"{test} #{times}"
        while name in self.outcomes:
            times += 1
            name = f"{test} #{times}"
        self._times[test] = times
        self.outcomes[name] = outcome

    @property
    def is_red(self) -> bool:
        """True if a test failed or a module could not be collected."""
        return not {"failed", "error"}.isdisjoint(self.outcomes.values())


def _choose_worst(one: str, other: str | None) -> str:
    if other is None:
        return one
    return min(one, other, key=_WORST_FIRST.index)


class Controller:
    """The parent of a worker process: it books what that says, and ends after it and all that it started."""

    def __init__(self, order: Order, worker: int, source: int, canaries: dict[str, tuple[str, str]]) -> None:
        """Read messages of `worker` from `source`; `canaries` maps drawn names to the outcome they must have."""
        self._order = order
        self._worker = worker
        self._source = source
        self._canaries = canaries
        self._book = OutcomeBook()
        self._status: int | None = None
        self._session_status: int | None = None
        self._has_ended = False
        self._canary_count = 0
        self._doubts: list[str] = []
        self._problems: list[str] = []
        self._scan: dict[str, Any] = {}

    def run(self) -> int:
        """Receive messages until the worker is gone; write the report and return the wait status of the worker."""
        wakeup = self._set_signals()
        buffer = b""
        is_open = True
        while True:
            self._reap_children()
            if self._status is not None:
                break
            sources = [self._source, wakeup] if is_open else [wakeup]
            ready = select.select(sources, [], [], 5.0)[0]
            if wakeup in ready:
                os.read(wakeup, 4096)
            if self._source in ready:
                chunk = os.read(self._source, 1 << 16)
                is_open = bool(chunk)
                buffer = self._take_messages(buffer + chunk)
        self._kill_descendants()
        self._drain_messages(buffer)
        self._book.close_tests()
        self._write_report()
        self._order.return_keys()
        return self._status

    def choose_exit_code(self) -> int:
        """Return the exit code of the check: the worker's own, but never green where a test was red or it was cut."""
        status = self._status or 0
        if os.WIFSIGNALED(status):
            return 128 + os.WTERMSIG(status)
        code = os.WEXITSTATUS(status)
        if code == 0:
            code = self._session_status or 0
        if code == 0 and (self._book.is_red or not self._has_ended):
            return 1
        return code

    def _set_signals(self) -> int:
        wakeup, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for name in _FORWARDED:
            signal.signal(getattr(signal, name), self._forward_signal)
        return wakeup

    def _forward_signal(self, number: int, _frame: object) -> None:
        if self._status is None:
            os.kill(self._worker, number)

    def _reap_children(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._worker:
                self._status = status

    def _kill_descendants(self) -> None:
        """Kill what the worker left behind, which the kernel made our children."""
        for _ in range(1000):
            children = _list_children()
            if not children:
                return
            for pid in children:
                try:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                except OSError:
                    pass

    def _drain_messages(self, buffer: bytes) -> None:
        os.set_blocking(self._source, False)
        while True:
            try:
                chunk = os.read(self._source, 1 << 16)
            except BlockingIOError:
                break
            if not chunk:
                break
            buffer = self._take_messages(buffer + chunk)

    def _take_messages(self, buffer: bytes) -> bytes:
        lines = buffer.split(b"\n")
        for line in lines[:-1]:
            try:
                message = json.loads(line)
                self._take_message(message[0], message[1:])
            except (ValueError, TypeError, KeyError, IndexError, AttributeError):
                self._add_problem("the process that runs the tests sent a message that cannot be read")
        return lines[-1]

    def _take_message(self, kind: str, parts: list[Any]) -> None:
        if kind == "run":
            self._book.start_test(str(parts[0]))
        elif kind == "report":
            test, when, outcome, is_expected, worker = parts
            self._book.add_report(str(test), when, outcome, bool(is_expected), str(worker))
        elif kind == "collect":
            self._book.add_collection(str(parts[0]), parts[1])
        elif kind == "canary":
            self._check_canary(*parts)
        elif kind == "finish":
            self._session_status = int(parts[0])
        elif kind == "scan":
            self._merge_scan(parts[0])
        elif kind == "problem":
            self._add_problem(str(parts[0]))
        elif kind == "end":
            self._has_ended = True

    def _check_canary(self, name: str, outcome: str) -> None:
        wanted, words = self._canaries[name]
        self._canary_count += 1
        if outcome != wanted:
            text = f"the one {words} {_ENDED.get(outcome, f'ended with {outcome}')}"
            if text not in self._doubts:
                self._doubts.append(text)

    def _merge_scan(self, scan: dict[str, Any]) -> None:
        for name, found in scan.items():
            if isinstance(found, dict):
                self._scan.setdefault(name, {}).update(found)
            else:
                known = self._scan.setdefault(name, [])
                known += [one for one in found if one not in known]

    def _add_problem(self, text: str) -> None:
        if len(self._problems) < _MAX_PROBLEMS and text not in self._problems:
            self._problems.append(text)

    def _write_report(self) -> None:
        body = {
            **self._scan,
            "tests": self._book.outcomes,
            "started": self._book.started,
            "last": self._book.last_test,
            "ended": self._has_ended,
            "status": self._status,
            "session": self._session_status,
            "canaries": self._canary_count,
            "doubts": self._doubts,
            "problems": self._problems,
        }
        text = json.dumps(body, separators=(",", ":")).encode()
        seal = blake2b(text, key=self._order.key, digest_size=32).hexdigest() if self._order.key else "-"
        descriptor = os.open(self._order.report_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        line = seal.encode() + b" " + text + b"\n"
        while line:
            line = line[os.write(descriptor, line) :]
        os.close(descriptor)


def _list_children() -> list[int]:
    own, found = os.getpid(), []
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit() and _read_parent(int(name)) == own:
            found.append(int(name))
    return found


def guard_process() -> None:
    """Keep other processes from reading the memory of this one, and adopt what its descendants leave behind."""
    import ctypes

    library = ctypes.CDLL(None)
    library.prctl(_SUBREAPER, 1, 0, 0, 0)
    library.prctl(_NOT_DUMPABLE, 0, 0, 0, 0)


def control_worker(order: Order, worker: int, source: int, ready: int, canaries: dict[str, tuple[str, str]]) -> None:
    """Be the controller of a worker from now on; let it begin by closing `ready`. Never returns."""
    code = 125
    try:
        sys.settrace(None)
        sys.setprofile(None)
        guard_process()
        order.take_keys()
        os.close(ready)
        controller = Controller(order, worker, source, canaries)
        status = controller.run()
        code = controller.choose_exit_code()
        if os.WIFSIGNALED(status):
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
            os.kill(os.getpid(), os.WTERMSIG(status))
    except BaseException as error:  # noqa: BLE001 -- the shell gets a code, whatever happened
        os.write(2, f"the guard of the test run ended by {error!r}\n".encode())
    finally:
        os._exit(code)
