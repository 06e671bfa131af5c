"""Check certificates before anything is served or joined with them: each fault has its own message and remedy."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from orchestrator.errors import EnvironmentProblem
from orchestrator.hands.hosts.certificates.files import (
    AUTHORITY_FILE,
    CertificateFiles,
    PeerIdentity,
    PeerRole,
    identify_peer,
)

_RENEW = "renew it where the authority lies: orchestrate hosts certs DIR --renew"
_HAND_OUT = "copy the whole directory anew from where `orchestrate hosts certs` made it"


def load_certificates(place: Path, role: PeerRole, now: datetime | None = None) -> CertificateFiles:
    """Return the files of the brain or of a host in the directory `place` when all of them are sound. Blocks.

    Raises:
        EnvironmentProblem: one is missing, cannot be read or is not in its time, the key is open to others or not the
            certificate's, or the certificate is not the authority's or not for this role.
    """
    certificate_file, key_file = place / f"{role}.pem", place / f"{role}-key.pem"
    authority = read_certificate(place / AUTHORITY_FILE)
    certificate = read_certificate(certificate_file)
    key = read_key(key_file)
    check_key_privacy(key_file)
    moment = now or datetime.now(UTC)
    _check_time(place / AUTHORITY_FILE, authority, moment)
    _check_time(certificate_file, certificate, moment)
    _check_signature(certificate_file, certificate, authority)
    if key.public_key() != certificate.public_key():
        raise EnvironmentProblem(f"{key_file} is not the key of {certificate_file}: {_HAND_OUT}")
    peer = _identify_holder(certificate_file, certificate, role)
    expires_at = min(certificate.not_valid_after_utc, authority.not_valid_after_utc)
    return CertificateFiles(place / AUTHORITY_FILE, certificate_file, key_file, peer, expires_at)


def read_certificate(path: Path) -> x509.Certificate:
    """Return the certificate in a PEM file.

    Raises:
        EnvironmentProblem: there is none.
    """
    try:
        return x509.load_pem_x509_certificate(_read_file(path))
    except ValueError as error:
        raise EnvironmentProblem(f"{path} is no certificate in PEM form: {_HAND_OUT}") from error


def read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Return the private key in a PEM file.

    Raises:
        EnvironmentProblem: there is none, or one of another kind.
    """
    try:
        key = load_pem_private_key(_read_file(path), password=None)
    except (ValueError, TypeError) as error:
        raise EnvironmentProblem(f"{path} is no private key in PEM form without a password: {_HAND_OUT}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise EnvironmentProblem(f"{path} is no key of an elliptic curve: {_HAND_OUT}")
    return key


def check_key_privacy(path: Path) -> None:
    """Refuse a key that the group or other users can read or change.

    Raises:
        EnvironmentProblem: they can.
    """
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise EnvironmentProblem(
            f"{path} can be read or changed by other users (mode {mode:04o}), and whoever has it can run code here: "
            f"chmod 600 {path}, and make a new one if somebody may have read it"
        )


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise EnvironmentProblem(
            f"{path} is missing: make certificates by `orchestrate hosts certs`, and copy the directory of this machine"
        ) from error
    except OSError as error:
        raise EnvironmentProblem(
            f"{path} cannot be read: {error.strerror}; it belongs to the user who reads it"
        ) from error


def _check_time(path: Path, certificate: x509.Certificate, now: datetime) -> None:
    if now < certificate.not_valid_before_utc:
        raise EnvironmentProblem(
            f"{path} is not valid before {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC, and here it is "
            f"{now:%Y-%m-%d %H:%M} UTC: set the clock of this machine"
        )
    if now > certificate.not_valid_after_utc:
        raise EnvironmentProblem(f"{path} expired on {certificate.not_valid_after_utc:%Y-%m-%d}: {_RENEW}")


def _check_signature(path: Path, certificate: x509.Certificate, authority: x509.Certificate) -> None:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature) as error:
        raise EnvironmentProblem(
            f"{path} was not signed by the authority in {path.parent / AUTHORITY_FILE}: {_HAND_OUT}"
        ) from error


def _identify_holder(path: Path, certificate: x509.Certificate, role: PeerRole) -> PeerIdentity:
    peer = identify_peer(_iterate_dns_names(certificate))
    if peer is None:
        raise EnvironmentProblem(f"{path} names neither the brain nor a host: {_HAND_OUT}")
    if peer.role != role:
        raise EnvironmentProblem(f"{path} is the certificate of {peer} and not that of a {role}: {_HAND_OUT}")
    return peer


def _iterate_dns_names(certificate: x509.Certificate) -> Iterator[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return
    yield from names.get_values_for_type(x509.DNSName)
