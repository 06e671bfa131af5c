"""Certificates."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class CertificateFiles:
    """Files."""

    authority: Path
    certificate: Path
    key: Path
