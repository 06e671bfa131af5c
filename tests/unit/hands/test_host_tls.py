"""Brain and host know each other by their certificates: real handshakes on loopback, in both directions."""

import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.hands.hosts.certificates.checking import load_certificates
from orchestrator.hands.hosts.certificates.files import (
    BRAIN,
    CertificateFiles,
    PeerIdentity,
    PeerRole,
    find_peer_directory,
    identify_peer,
)
from orchestrator.hands.hosts.certificates.issuing import create_authority, create_certificate

HOST = PeerIdentity("host", "a")


def deploy(place: Path) -> Path:
    create_authority(place)
    for peer in (BRAIN, HOST):
        create_certificate(place, peer)
    return place


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return deploy(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def other_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return deploy(tmp_path_factory.mktemp("theirs"))


def files_of(place: Path, peer: PeerIdentity) -> CertificateFiles:
    return load_certificates(find_peer_directory(place, peer), peer.role)


def build_context(files: CertificateFiles, protocol: int) -> ssl.SSLContext:
    """A context that demands a certificate of the other side, as both sides have one."""
    context = ssl.SSLContext(protocol)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_verify_locations(files.authority)
    context.load_cert_chain(files.certificate, files.key)
    return context


def serve_one(listening: socket.socket, context: ssl.SSLContext) -> PeerIdentity | None:
    """Take one connection, and return who it is from; an error of the handshake is raised."""
    connection, _ = listening.accept()
    connection.settimeout(5)
    with connection, context.wrap_socket(connection, server_side=True) as secured:
        details = secured.getpeercert() or {}
        names = [str(value) for kind, value in details.get("subjectAltName", ()) if kind == "DNS"]
        secured.sendall(b"x")
        return identify_peer(names)


def connect(server: CertificateFiles, client: ssl.SSLContext) -> PeerIdentity | None:
    """Let a client connect to a server, and return who the server takes it for."""
    context = build_context(server, ssl.PROTOCOL_TLS_SERVER)
    with ThreadPoolExecutor(1) as pool, socket.create_server(("127.0.0.1", 0)) as listening:
        served = pool.submit(serve_one, listening, context)
        refusal: Exception | None = None
        try:
            with (
                socket.create_connection(listening.getsockname(), timeout=5) as connection,
                client.wrap_socket(connection) as secured,
            ):
                secured.recv(1)
        except (ssl.SSLError, ConnectionError) as error:
            refusal = error
        found = served.result(timeout=5)
        assert refusal is None
        return found


def client_context(place: Path, peer: PeerIdentity) -> ssl.SSLContext:
    return build_context(files_of(place, peer), ssl.PROTOCOL_TLS_CLIENT)


@pytest.mark.parametrize(("server", "client"), [(BRAIN, HOST), (HOST, BRAIN)], ids=["host-to-brain", "brain-to-host"])
def test_each_side_knows_the_other_by_its_certificate(place: Path, server: PeerIdentity, client: PeerIdentity) -> None:
    assert connect(files_of(place, server), client_context(place, client)) == client


def test_a_host_of_another_authority_is_refused(place: Path, other_place: Path) -> None:
    theirs = client_context(other_place, HOST)
    theirs.load_verify_locations(files_of(place, BRAIN).authority)
    with pytest.raises(ssl.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
        connect(files_of(place, BRAIN), theirs)


def test_a_host_refuses_a_brain_of_another_authority(place: Path, other_place: Path) -> None:
    with pytest.raises(ssl.SSLError, match="UNKNOWN_CA"):
        connect(files_of(other_place, BRAIN), client_context(place, HOST))


@pytest.mark.parametrize("role", ["brain", "host"])
def test_whoever_brings_no_certificate_is_refused(place: Path, role: PeerRole) -> None:
    server = {"brain": BRAIN, "host": HOST}[role]
    bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    bare.check_hostname = False
    bare.load_verify_locations(files_of(place, server).authority)
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        connect(files_of(place, server), bare)
