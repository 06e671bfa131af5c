"""JSON models of what the verbs of `hosts` print."""

from datetime import datetime
from typing import Literal

from orchestrator.hands.hosts.certificates.files import PeerRole
from orchestrator.report.read_model import Document, ReadModel


class HostCertificateRow(ReadModel):
    """The certificate of the brain, or of the host `name`; it is refused after `expires_at`."""

    role: PeerRole
    name: str
    directory: str
    outcome: Literal["made", "kept", "renewed"]
    expires_at: datetime
    is_expired: bool


class HostCertificatesDocument(Document, schema="orchestrate.hosts-certs/1"):
    """The output of `hosts certs`: where the authority lies and until when it counts, and the certificates."""

    authority: str
    authority_expires_at: datetime
    certificates: tuple[HostCertificateRow, ...]
