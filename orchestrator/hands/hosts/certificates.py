"""Certificates."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class CertificateFiles:
    """Files."""

    authority: Path
    certificate: Path
    key: Path


def load_certificates(place: Path, role: str) -> CertificateFiles:
    """Load."""
    return CertificateFiles(place / "ca.pem", place / f"{role}.pem", place / f"{role}-key.pem")
