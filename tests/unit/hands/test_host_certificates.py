"""Certificates of the brain and of hosts: how they are made, and every fault for which they are refused."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from orchestrator.errors import EnvironmentProblem, OrchestrateError, UsageProblem
from orchestrator.hands.hosts.certificates.checking import load_certificates
from orchestrator.hands.hosts.certificates.files import BRAIN, PeerIdentity, build_host_identity, identify_peer
from orchestrator.hands.hosts.certificates.issuing import (
    create_authority,
    create_certificate,
    find_hosts_with_certificates,
)

HOST = PeerIdentity("host", "builder-1")
DAY = timedelta(days=1)


def deploy(place: Path, *peers: PeerIdentity) -> Path:
    """Make an authority with certificates for peers; the brain and one host if none are named."""
    create_authority(place)
    for peer in peers or (BRAIN, HOST):
        create_certificate(place, peer)
    return place


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return deploy(tmp_path / "hosts")


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def content_of(place: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


def test_each_peer_gets_a_directory_of_its_own_with_what_it_needs_and_no_more(place: Path) -> None:
    names = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    assert names == {
        "authority/ca.pem",
        "authority/ca-key.pem",
        *(f"brain/{name}" for name in ("ca.pem", "brain.pem", "brain-key.pem")),
        *(f"hosts/builder-1/{name}" for name in ("ca.pem", "host.pem", "host-key.pem")),
    }


def test_no_other_user_can_read_any_of_it(place: Path) -> None:
    modes = {mode_of(path) for path in place.rglob("*") if path.is_file()}
    folders = {mode_of(path) for path in (place, *place.rglob("*")) if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


def test_what_was_made_is_sound_and_says_for_whom_and_how_long(place: Path) -> None:
    brain, host = load_certificates(place / "brain", "brain"), load_certificates(place / "hosts/builder-1", "host")
    assert (brain.peer, host.peer) == (BRAIN, HOST)
    assert host.key == place / "hosts/builder-1/host-key.pem"
    assert timedelta(days=364) < host.expires_at - datetime.now(UTC) <= timedelta(days=365)


def test_the_authority_counts_for_ten_years_and_signs_no_further_authority(place: Path) -> None:
    authority = x509.load_pem_x509_certificate((place / "authority/ca.pem").read_bytes())
    assert authority.not_valid_after_utc - datetime.now(UTC) > timedelta(days=3_649)
    limits = authority.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert (limits.ca, limits.path_length) == (True, 0)


def test_a_second_call_keeps_everything(place: Path) -> None:
    before = content_of(place)
    create_authority(place)
    assert create_certificate(place, HOST).outcome == "kept"
    assert content_of(place) == before


def test_a_host_can_be_added_later(place: Path) -> None:
    before = content_of(place)
    added = create_certificate(place, PeerIdentity("host", "builder-2"))
    assert added.outcome == "made"
    assert before.items() <= content_of(place).items()
    assert [peer.name for peer in find_hosts_with_certificates(place)] == ["builder-1", "builder-2"]


def test_a_renewed_certificate_has_a_new_key_and_the_same_authority(place: Path) -> None:
    before = load_certificates(place / "hosts/builder-1", "host")
    key, authority = before.key.read_bytes(), before.authority.read_bytes()
    renewed = create_certificate(place, HOST, days=30, renews=True)
    after = load_certificates(place / "hosts/builder-1", "host")
    assert (renewed.outcome, renewed.expires_at) == ("renewed", after.expires_at)
    assert after.expires_at < before.expires_at - 300 * DAY
    assert (after.key.read_bytes() != key, after.authority.read_bytes()) == (True, authority)
    assert [path.name for path in (place / "hosts").iterdir()] == ["builder-1"]


def test_no_certificate_outlives_its_authority(place: Path) -> None:
    late = datetime.now(UTC) + timedelta(days=3_600)
    issued = create_certificate(place, PeerIdentity("host", "late"), now=late)
    assert issued.expires_at == create_authority(place)


def test_an_expired_authority_signs_nothing(place: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=r"the authority in .* expired on .*new directory"):
        create_certificate(place, PeerIdentity("host", "late"), now=datetime.now(UTC) + timedelta(days=3_651))


def test_without_the_key_of_the_authority_nothing_is_signed(place: Path) -> None:
    (place / "authority/ca-key.pem").unlink()
    assert create_certificate(place, HOST).outcome == "kept"
    with pytest.raises(EnvironmentProblem, match=r"ca-key\.pem is missing, and nothing can be signed without it"):
        create_certificate(place, PeerIdentity("host", "builder-2"))


def test_an_authority_that_is_gone_is_not_replaced_in_silence(place: Path) -> None:
    shutil.rmtree(place / "authority")
    with pytest.raises(UsageProblem, match=r"not the authority that signed them: bring .* back"):
        create_authority(place)


def test_no_key_is_made_in_a_git_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with pytest.raises(UsageProblem, match="lies in the git repository"):
        create_authority(tmp_path / "certs" / "hosts")
    assert not (tmp_path / "certs").exists()


@pytest.mark.parametrize("name", ["", "-a", "A", "a_b", "../a", "a" * 42, "a.b"])
def test_a_host_has_a_name_of_small_letters_digits_and_hyphens(name: str) -> None:
    with pytest.raises(UsageProblem, match="no host can be called"):
        build_host_identity(name)


def test_the_longest_name_of_a_host_fits_a_certificate(tmp_path: Path) -> None:
    longest = build_host_identity("a" * 41)
    deploy(tmp_path, longest)
    assert load_certificates(tmp_path / "hosts" / longest.name, "host").peer == longest


@pytest.mark.parametrize(
    ("names", "peer"),
    [
        (["brain.orchestrate.internal"], BRAIN),
        (["elsewhere.example", "a.host.orchestrate.internal"], PeerIdentity("host", "a")),
        (["brain.host.orchestrate.internal"], PeerIdentity("host", "brain")),
        (["brain.orchestrate.internal.example", ".host.orchestrate.internal", "a.b.host.orchestrate.internal"], None),
        ([], None),
    ],
)
def test_a_peer_is_known_by_the_names_in_its_certificate(names: list[str], peer: PeerIdentity | None) -> None:
    assert identify_peer(names) == peer


def _remove_key(host: Path) -> None:
    (host / "host-key.pem").unlink()


def _remove_authority(host: Path) -> None:
    (host / "ca.pem").unlink()


def _open_key_to_group(host: Path) -> None:
    (host / "host-key.pem").chmod(0o640)


def _open_key_to_all(host: Path) -> None:
    (host / "host-key.pem").chmod(0o604)


def _empty_certificate(host: Path) -> None:
    (host / "host.pem").write_bytes(b"")


def _write_words_for_key(host: Path) -> None:
    (host / "host-key.pem").write_text("secret")


def _take_key_of_other_kind(host: Path) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    (host / "host-key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _take_certificate_of_authority(host: Path) -> None:
    authority = host.parents[1] / "authority"
    shutil.copy(authority / "ca.pem", host / "host.pem")
    shutil.copy(authority / "ca-key.pem", host / "host-key.pem")


def _take_other_key(host: Path) -> None:
    other = deploy(host.parents[2] / "other")
    shutil.copy(other / "hosts/builder-1/host-key.pem", host)


def _take_other_authority(host: Path) -> None:
    other = deploy(host.parents[2] / "other")
    shutil.copy(other / "authority/ca.pem", host)


def _take_files_of_brain(host: Path) -> None:
    for end in (".pem", "-key.pem"):
        shutil.copy(host.parents[1] / "brain" / f"brain{end}", host / f"host{end}")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_remove_key, r"host-key\.pem is missing: make certificates by `orchestrate hosts certs`"),
        (_remove_authority, r"ca\.pem is missing"),
        (_open_key_to_group, r"can be read or changed by other users \(mode 0640\).*chmod 600 .*host-key\.pem"),
        (_open_key_to_all, r"can be read or changed by other users \(mode 0604\)"),
        (_empty_certificate, r"host\.pem is no certificate in PEM form: copy the whole directory anew"),
        (_write_words_for_key, r"host-key\.pem is no private key"),
        (_take_key_of_other_kind, r"host-key\.pem is no key of an elliptic curve"),
        (_take_certificate_of_authority, r"host\.pem names neither the brain nor a host"),
        (_take_other_key, r"host-key\.pem is not the key of .*host\.pem"),
        (_take_other_authority, r"host\.pem was not signed by the authority in .*ca\.pem"),
        (_take_files_of_brain, r"is the certificate of the brain and not that of a host"),
    ],
)
def test_a_fault_is_refused_with_its_remedy(place: Path, spoil: Callable[[Path], None], message: str) -> None:
    host = place / "hosts/builder-1"
    load_certificates(host, "host")
    spoil(host)
    with pytest.raises(EnvironmentProblem, match=message):
        load_certificates(host, "host")


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (366 * DAY, r"host\.pem expired on \d{4}-\d\d-\d\d: renew it where the authority lies: .* --renew"),
        (-1 * DAY, r"ca\.pem is not valid before .* UTC, and here it is .* UTC: set the clock"),
    ],
)
def test_a_certificate_out_of_its_time_is_refused(place: Path, later: timedelta, message: str) -> None:
    with pytest.raises(EnvironmentProblem, match=message):
        load_certificates(place / "hosts/builder-1", "host", now=datetime.now(UTC) + later)


def test_the_clock_of_a_host_may_be_some_minutes_slow(place: Path) -> None:
    slow = datetime.now(UTC) - timedelta(minutes=5)
    assert load_certificates(place / "hosts/builder-1", "host", now=slow).peer == HOST


def test_no_fault_is_a_fault_of_our_own(place: Path) -> None:
    """A directory in the place of a file, for instance."""
    (place / "brain/brain.pem").unlink()
    (place / "brain/brain.pem").mkdir()
    with pytest.raises(OrchestrateError, match="cannot be read"):
        load_certificates(place / "brain", "brain")
