"""The files of the certificates, and who a certificate is for.

A deployment has one private authority. A directory made by `orchestrate hosts certs DIR` holds

    DIR/authority/   ca.pem, ca-key.pem             stays with whoever made it
    DIR/brain/       ca.pem, brain.pem, brain-key.pem
    DIR/hosts/NAME/  ca.pem, host.pem, host-key.pem

A certificate names its holder as a DNS name below `orchestrate.internal`, which no resolver ever sees.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from orchestrator.domain.hosts.record import HOST_NAME_PATTERN
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import UsageProblem

PeerRole = Literal["brain", "host"]

AUTHORITY_FILE = "ca.pem"
AUTHORITY_KEY_FILE = "ca-key.pem"
PRIVATE_FILE_MODE = 0o600
PRIVATE_DIRECTORY_MODE = 0o700

_BRAIN_DNS = "brain.orchestrate.internal"
_HOST_DNS = ".host.orchestrate.internal"
_HOST_NAME = compile_lazily(HOST_NAME_PATTERN)


@dataclass(frozen=True)
class PeerIdentity:
    """The holder of a certificate: the brain, or the host called `name` (empty for the brain)."""

    role: PeerRole
    name: str = ""

    @property
    def dns_name(self) -> str:
        """The name that stands in the certificate."""
        if self.role == "brain":
            return _BRAIN_DNS
        return f"{self.name}{_HOST_DNS}"

    def __str__(self) -> str:
        if self.role == "brain":
            return "the brain"
        return f"host {self.name}"


BRAIN = PeerIdentity("brain")


@dataclass(frozen=True)
class CertificateFiles:
    """The checked files of one peer, and the moment after which they are refused."""

    authority: Path
    certificate: Path
    key: Path
    peer: PeerIdentity
    expires_at: datetime


def build_host_identity(name: str) -> PeerIdentity:
    """Return the identity of the host called `name`.

    Raises:
        UsageProblem: no host can be called so.
    """
    if _HOST_NAME.fullmatch(name) is None:
        raise UsageProblem(
            f"no host can be called {name!r}: take up to 41 small letters, digits and hyphens, such as builder-1"
        )
    return PeerIdentity("host", name)


def identify_peer(dns_names: Iterable[str]) -> PeerIdentity | None:
    """Return who a certificate with these DNS names is for; None if it is for nobody here."""
    for dns_name in dns_names:
        if dns_name == _BRAIN_DNS:
            return BRAIN
        name = dns_name.removesuffix(_HOST_DNS)
        if name != dns_name and _HOST_NAME.fullmatch(name) is not None:
            return PeerIdentity("host", name)
    return None


def find_peer_directory(place: Path, peer: PeerIdentity) -> Path:
    """Return the directory of a peer's files below the directory of a deployment."""
    if peer.role == "brain":
        return place / "brain"
    return place / "hosts" / peer.name


def find_authority_directory(place: Path) -> Path:
    """Return the directory of the authority below the directory of a deployment."""
    return place / "authority"
