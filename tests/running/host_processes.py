"""Hosts as processes of their own, as `orchestrate hosts join` makes them, with certificates of their own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

SOURCE = Path(__file__).parents[2]
_JOIN = """
import ctypes
import sys
from pathlib import Path

import anyio

ctypes.CDLL(None).prctl(1, 9)  # whatever ends the test ends its hosts

from orchestrator import __version__
from orchestrator.hands.hosts.certificates import load_certificates
from orchestrator.hands.hosts.dask_host import JoinOptions, serve_brains
from orchestrator.hands.hosts.host_agent import HostIdentity
from orchestrator.hands.hosts.host_store import HostStore

address, certs, slots, name, place = sys.argv[1:]
brain, _, port = address.rpartition(":")
options = JoinOptions(brain, int(port), load_certificates(Path(certs), "host"))
store = HostStore(Path(place))
anyio.run(serve_brains, options, HostIdentity(name, int(slots), __version__), store, print)
"""


@dataclass(frozen=True)
class HostProcess:
    """A host that runs. What it says to its person goes to `log`."""

    process: subprocess.Popen[bytes]
    log: Path

    def freeze(self) -> None:
        """Stop it where it is; everything that it answers for hangs."""
        self.process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        """Kill it with no word to anybody."""
        self.process.kill()
        self.process.wait()


@contextmanager
def run_host(place: Path, certs: Path, address: str, name: str, slots: int) -> Iterator[HostProcess]:
    """Run a host of this name while the block lasts; all that it keeps is below `place`."""
    place.mkdir(parents=True)
    words = [sys.executable, "-u", "-c", _JOIN, address.removeprefix("tls://"), str(certs / "hosts" / name)]
    words += [str(slots), name, str(place / "kept")]
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
    """Make an authority, and the directories `brain` and `hosts/NAME` with a certificate and a key each."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _sign("authority", authority_key.public_key(), "authority", authority_key, is_authority=True)
    peers = {place / "brain": ("brain", "brain.orchestrate.internal")}
    peers |= {place / "hosts" / name: ("host", f"{name}.host.orchestrate.internal") for name in hosts}
    for folder, (role, dns_name) in peers.items():
        folder.mkdir(parents=True, mode=0o700)
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _sign(dns_name, key.public_key(), "authority", authority_key, is_authority=False)
        (folder / "ca.pem").write_bytes(authority)
        (folder / f"{role}.pem").write_bytes(certificate)
        (folder / f"{role}-key.pem").touch(mode=0o600)
        (folder / f"{role}-key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _sign(
    name: str,
    key: ec.EllipticCurvePublicKey,
    issuer: str,
    signing_key: ec.EllipticCurvePrivateKey,
    *,
    is_authority: bool,
) -> bytes:
    begin = datetime.now(UTC) - timedelta(hours=1)
    builder = x509.CertificateBuilder().subject_name(_build_name(name)).issuer_name(_build_name(issuer))
    builder = builder.public_key(key).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(begin).not_valid_after(begin + timedelta(days=2))
    constraints = x509.BasicConstraints(ca=is_authority, path_length=None)
    builder = builder.add_extension(constraints, critical=True)
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    return builder.sign(signing_key, hashes.SHA256()).public_bytes(Encoding.PEM)


def _build_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
