"""Hosts as processes of their own, as `orchestrate hosts join` makes them, with certificates of their own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.hands.hosts.certificates.files import BRAIN, build_host_identity
from orchestrator.hands.hosts.certificates.issuing import create_authority, create_certificate

SOURCE = Path(__file__).parents[2]
_JOIN = """
import ctypes

ctypes.CDLL(None).prctl(1, 9)  # whatever ends the test ends its hosts
from orchestrator.cli.main import main

main()
"""


@dataclass(frozen=True)
class HostProcess:
    """A host that runs. What it says to its person goes to `log`."""

    process: subprocess.Popen[bytes]
    log: Path

    def freeze(self) -> None:
        """Stop it where it is; everything that it answers for hangs."""
        self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it with no word to anybody."""
        self.process.kill()
        self.process.wait()


@contextmanager
def run_host(
    place: Path, certs: Path, address: str, name: str, slots: int, before: Sequence[str] = ()
) -> Iterator[HostProcess]:
    """Run a host of this name while the block lasts; all that it keeps is below `place`.

    The words `before` its own are a program that becomes it.
    """
    place.mkdir(parents=True)
    words = [*before, sys.executable, "-c", _JOIN, "hosts", "join", address.removeprefix("tls://"), "--name", name]
    words += ["--certs", str(certs / "hosts" / name), "--slots", str(slots), "--state", str(place / "kept")]
    log = place / "said.log"
    with log.open("wb") as said:
        environ = {**os.environ, "PYTHONPATH": str(SOURCE)}
        process = subprocess.Popen(words, cwd=SOURCE, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environ)
    try:
        yield HostProcess(process, log)
    finally:
        process.kill()
        process.wait()


def create_certificates(place: Path, hosts: Sequence[str]) -> None:
    """Make an authority, and the directories `brain` and `hosts/NAME` with what its peers need."""
    create_authority(place)
    for peer in (BRAIN, *map(build_host_identity, hosts)):
        create_certificate(place, peer)
