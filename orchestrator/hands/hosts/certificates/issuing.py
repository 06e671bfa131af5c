"""Make the private authority of a deployment, and certificates for its brain and its hosts.

Keys are EC P-256. What is there is never overwritten: a certificate is made once, and anew only where somebody asks
for it.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.hands.hosts.certificates.checking import check_key_privacy, read_certificate, read_key
from orchestrator.hands.hosts.certificates.files import (
    AUTHORITY_FILE,
    AUTHORITY_KEY_FILE,
    PRIVATE_DIRECTORY_MODE,
    PRIVATE_FILE_MODE,
    PeerIdentity,
    build_host_identity,
    find_authority_directory,
    find_peer_directory,
)

AUTHORITY_DAYS = 3_650
PEER_DAYS = 365

_CLOCK_SKEW = timedelta(minutes=10)
"""The lag that the clock of another machine may have when it gets a certificate that was just made."""
_PEER_USES = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
_UNUSED = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only")


@dataclass(frozen=True)
class IssuedCertificate:
    """The certificate of a peer, the directory that it lies in with its key, and what was done to it."""

    peer: PeerIdentity
    directory: Path
    expires_at: datetime
    outcome: Literal["made", "kept", "renewed"]


def create_authority(place: Path, now: datetime | None = None) -> datetime:
    """Make the authority of the deployment in `place` if there is none yet; return when it expires.

    Raises:
        UsageProblem: `place` lies in a git repository, or has certificates whose authority is gone.
        EnvironmentProblem: the authority there cannot be used.
    """
    directory = find_authority_directory(place)
    if directory.exists():
        return read_certificate(directory / AUTHORITY_FILE).not_valid_after_utc
    _refuse_repository(place)
    if (place / "brain").exists() or (place / "hosts").exists():
        raise UsageProblem(
            f"{place} has certificates, but not the authority that signed them: bring {directory} back, or name a new "
            "directory and hand out all certificates anew"
        )
    place.mkdir(mode=PRIVATE_DIRECTORY_MODE, parents=True, exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Orchestrate hosts {x509.random_serial_number():040x}")])
    begin = now or datetime.now(UTC)
    end = begin + timedelta(days=AUTHORITY_DAYS)
    builder = _build_certificate(name, name, key.public_key(), begin, end)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_build_key_usage(is_authority=True), critical=True)
    builder = builder.add_extension(_identify_key(key.public_key()), critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    files = {AUTHORITY_FILE: _encode_certificate(certificate), AUTHORITY_KEY_FILE: _encode_key(key)}
    _place_files(directory, files)
    return certificate.not_valid_after_utc


def create_certificate(
    place: Path, peer: PeerIdentity, days: int = PEER_DAYS, *, renews: bool = False, now: datetime | None = None
) -> IssuedCertificate:
    """Make the certificate and the key of a peer if it has none, or if they are to be renewed.

    It ends after `days` days, at the latest with the authority.

    Raises:
        EnvironmentProblem: the authority cannot be used, or what is there cannot be read.
    """
    directory = find_peer_directory(place, peer)
    is_there = directory.exists()
    if is_there and not renews:
        kept = read_certificate(directory / f"{peer.role}.pem")
        return IssuedCertificate(peer, directory, kept.not_valid_after_utc, "kept")
    begin = now or datetime.now(UTC)
    authority = _Authority.read_from(find_authority_directory(place))
    authority.check_time(begin)
    key = ec.generate_private_key(ec.SECP256R1())
    end = min(begin + timedelta(days=days), authority.certificate.not_valid_after_utc)
    certificate = authority.sign_certificate(peer, key.public_key(), begin, end)
    files = {
        AUTHORITY_FILE: _encode_certificate(authority.certificate),
        f"{peer.role}.pem": _encode_certificate(certificate),
        f"{peer.role}-key.pem": _encode_key(key),
    }
    _place_files(directory, files)
    outcome: Literal["made", "renewed"] = "made"
    if is_there:
        outcome = "renewed"
    return IssuedCertificate(peer, directory, certificate.not_valid_after_utc, outcome)


def find_hosts_with_certificates(place: Path) -> list[PeerIdentity]:
    """Return the hosts that the deployment in `place` has certificates for, by name."""
    found = []
    if (place / "hosts").is_dir():
        for directory in sorted((place / "hosts").iterdir()):
            if not directory.name.startswith("."):
                found.append(build_host_identity(directory.name))
    return found


@dataclass(frozen=True)
class _Authority:
    """The certificate of an authority with its key."""

    directory: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def read_from(cls, directory: Path) -> "_Authority":
        key_file = directory / AUTHORITY_KEY_FILE
        if not key_file.exists():
            raise EnvironmentProblem(
                f"{key_file} is missing, and nothing can be signed without it: bring it back for as long as this takes"
            )
        certificate, key = read_certificate(directory / AUTHORITY_FILE), read_key(key_file)
        check_key_privacy(key_file)
        if key.public_key() != certificate.public_key():
            raise EnvironmentProblem(
                f"{key_file} is not the key of {directory / AUTHORITY_FILE}: bring the right one back"
            )
        return cls(directory, certificate, key)

    def check_time(self, now: datetime) -> None:
        """Refuse an authority that has expired, as nothing that it signs would be accepted."""
        if now > self.certificate.not_valid_after_utc:
            raise EnvironmentProblem(
                f"the authority in {self.directory} expired on {self.certificate.not_valid_after_utc:%Y-%m-%d}: name a "
                "new directory and hand out all certificates anew"
            )

    def sign_certificate(
        self, peer: PeerIdentity, key: ec.EllipticCurvePublicKey, begin: datetime, end: datetime
    ) -> x509.Certificate:
        """Return a certificate for a peer, which it can use as client and as server."""
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, str(peer))])
        builder = _build_certificate(name, self.certificate.subject, key, begin, end)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_build_key_usage(is_authority=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(_PEER_USES), critical=False)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(peer.dns_name)]), critical=False)
        builder = builder.add_extension(_identify_key(key), critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return builder.add_extension(issuer, critical=False).sign(self.key, hashes.SHA256())


def _build_certificate(
    name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, begin: datetime, end: datetime
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(begin - _CLOCK_SKEW).not_valid_after(end)


def _build_key_usage(*, is_authority: bool) -> x509.KeyUsage:
    unused: dict[str, bool] = dict.fromkeys(_UNUSED, False)
    return x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        decipher_only=False,
        **unused,
    )


def _identify_key(key: ec.EllipticCurvePublicKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key)


def _encode_certificate(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _encode_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _place_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Put a whole directory of private files in its place; one that is there goes when the new one is complete."""
    parent = directory.parent
    parent.mkdir(mode=PRIVATE_DIRECTORY_MODE, parents=True, exist_ok=True)
    made = Path(mkdtemp(prefix=".new-", dir=parent))
    try:
        for name, content in files.items():
            path = made / name
            path.touch(mode=PRIVATE_FILE_MODE)
            path.write_bytes(content)
        if directory.exists():
            old = Path(mkdtemp(prefix=".old-", dir=parent))
            directory.rename(old / directory.name)
            made.rename(directory)
            shutil.rmtree(old)
        else:
            made.rename(directory)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _refuse_repository(place: Path) -> None:
    """Refuse a place in a git repository, where keys could be committed or reach a workspace."""
    whole = place.absolute()
    for folder in (whole, *whole.parents):
        if (folder / ".git").exists():
            raise UsageProblem(
                f"{place} lies in the git repository {folder}, where keys do not belong: name a directory outside of "
                "it, such as ~/.config/orchestrate/hosts"
            )
