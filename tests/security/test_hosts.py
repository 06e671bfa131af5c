"""What a command on a host can see of it: a real host process, behind the real sandbox.

Each attack is made outside of the sandbox as well, where it works.
"""

import os
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import OrchestrateError
from orchestrator.hands.hosts.certificates.checking import load_certificates
from orchestrator.hands.hosts.certificates.files import CertificateFiles
from orchestrator.hands.policy import RegistryGrant, SandboxGrant
from orchestrator.ports.hands import Workspace
from tests.conformance.kinds import HandsOptions, OpenedHands
from tests.conformance.spread_kinds import ProcessHosts, open_host_processes
from tests.running.host_processes import create_certificates
from tests.unit.hands.conftest import Yard, ran

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.attack(76), pytest.mark.timeout(300)]

TIERS = (Tier.COMMANDS, Tier.REGISTRIES, Tier.EVERYTHING)
LISTENS = "0A"
SECRET = "BEGIN PRIVATE KEY"
CANARY = "canary of another repository"


@dataclass(frozen=True)
class Target:
    """A host under attack from a workspace on it: its process, its files, and the ports of both sides."""

    workspace: Workspace
    pid: int
    certs: Path
    store: Path
    host_ports: tuple[int, ...]
    brain_ports: tuple[int, ...]
    other: Path
    """The copy of another repository in the host's store."""

    @property
    def key(self) -> Path:
        return self.certs / "host-key.pem"


def list_ports(pid: int) -> tuple[int, ...]:
    """The ports that a process listens at."""
    sockets, found = set[str](), set[int]()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            sockets.add(str(entry.readlink()))
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS and f"socket:[{fields[9]}]" in sockets:
                found.add(int(fields[1].rpartition(":")[2], 16))
    return tuple(sorted(found))


def plant_other_mirror(store: Path) -> Path:
    """Have the host keep a copy of another repository, with a secret in it that everybody may read there."""
    place = store / "mirrors" / "other" / "git"
    place.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "--bare", str(place)], check=True)
    words = ["git", "-C", str(place), "hash-object", "-w", "--stdin"]
    subprocess.run(words, input=CANARY.encode(), check=True, capture_output=True)
    return place


@pytest.fixture
async def target(yard: Yard) -> AsyncIterator[Target]:
    grant = SandboxGrant(ceiling=Tier.EVERYTHING, registries=RegistryGrant(named=("registry.invalid:443",)))
    before = list_ports(os.getpid())
    async with open_host_processes(yard, HandsOptions(grant=grant, slots=1)) as opened:
        workspace = await opened.hands.open_workspace(CommitId(yard.git("rev-parse", "HEAD")), Purpose("attack"))
        process = find_process(opened, workspace.host)
        store = yard.state / "hosts" / workspace.host / "kept"
        brain_ports = tuple(port for port in list_ports(os.getpid()) if port not in before)
        certs = yard.state / "certs" / "hosts" / workspace.host
        yield Target(workspace, process, certs, store, list_ports(process), brain_ports, plant_other_mirror(store))
        await workspace.close()


def find_process(opened: OpenedHands, name: str) -> int:
    hosts = opened.hosts
    assert isinstance(hosts, ProcessHosts)
    return hosts.processes[name].process.pid


async def attack(target: Target, line: str, tier: Tier = Tier.COMMANDS) -> str:
    """What an attack printed on the host, once it is certain that it was made."""
    output: str = (await ran(target.workspace, f"{line}\necho over", tier=tier)).output  # type: ignore[arg-type]  # it needs nothing but the port
    assert output.endswith("over\n"), output
    return output


async def test_no_command_reads_the_key_or_the_store_of_its_host(
    target: Target, outside: Callable[..., str], tmp_path: Path
) -> None:
    oid = git_object(CANARY)
    attacks = {
        f"cat {target.key} {target.certs}/*.pem": SECRET,
        f"cat /proc/{target.pid}/root{target.key}": SECRET,
        f"cat /proc/*/root{target.key}": SECRET,
        f"ln -sf {target.certs} way; cat way/host-key.pem": SECRET,
        f"tr '\\0' ' ' < /proc/{target.pid}/cmdline": "hosts join",
        "cat /proc/[0-9]*/cmdline | tr '\\0' ' '": "hosts join",
        f"ls {target.store}": "mirrors",
        f"git --git-dir={target.other} cat-file -p {oid}": CANARY,
        f"GIT_ALTERNATE_OBJECT_DIRECTORIES={target.other}/objects git cat-file -p {oid}": CANARY,
        f"mkdir -p .git/objects/info; echo {target.other}/objects > .git/objects/info/alternates; "
        f"git cat-file -p {oid}": CANARY,
    }
    place = tmp_path / "control"
    run_git(tmp_path, "init", "-q", str(place))
    for line, prize in attacks.items():
        assert prize in outside(line, cwd=place), f"the control: {line}"
        for tier in TIERS:
            assert prize not in await attack(target, line, tier), (line, tier)


def run_git(place: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(place), *words], capture_output=True, check=False)


def git_object(text: str) -> str:
    done = subprocess.run(["git", "hash-object", "--stdin"], input=text.encode(), check=True, capture_output=True)
    return done.stdout.decode().strip()


async def test_no_file_tool_of_a_host_follows_a_link_out_of_its_workspace(target: Target) -> None:
    workspace = target.workspace
    await attack(target, f"ln -s {target.key} key; ln -s {target.certs} certs; ln -s {target.store} store")
    before = target.key.read_bytes()
    for path in ("key", "certs/host-key.pem", "certs/../host-key.pem", str(target.key), "store/mirrors/other/git/HEAD"):
        found = b""
        with suppress(OrchestrateError):
            found = await workspace.read_file(path)
        assert found == b"", path
        with suppress(OrchestrateError):
            await workspace.write_file(path, b"theirs")
    assert target.key.read_bytes() == before
    assert not [line for line in await workspace.search_text("PRIVATE", "**", 10) if SECRET in line]
    assert not any("host-key" in path for path in await workspace.list_paths())
    assert (target.other / "HEAD").read_text() != "theirs"


async def test_a_snapshot_on_a_host_borrows_nothing_from_another_repository(target: Target, yard: Yard) -> None:
    oid = git_object(CANARY)
    index = f"100644 {oid}\tstolen"
    line = (
        f"mkdir -p .git/objects/info; echo {target.other}/objects > .git/objects/info/alternates; "
        f"printf '{index}\\n' | git update-index --index-info; echo new > new"
    )
    await attack(target, line)
    with suppress(OrchestrateError):
        await target.workspace.take_snapshot("Stolen", "refs/test/stolen")
    assert run_git(yard.repo, "cat-file", "-e", oid).returncode != 0
    assert run_git(target.other, "cat-file", "-e", oid).returncode == 0, "the control"


async def test_no_command_ends_or_stops_the_agent(target: Target, outside: Callable[..., str]) -> None:
    assert "reached" in outside(f"kill -0 {target.pid} && echo reached"), "the control"
    line = f"kill -9 {target.pid} && echo reached; kill -STOP {target.pid} && echo reached"
    for tier in TIERS:
        assert "reached" not in await attack(target, line, tier)
    assert is_alive(target.pid)


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "TtZ"


def connect_to(ports: Sequence[int], *, then: str = "print('reached')") -> str:
    """A command line that connects to ports of this machine, one after the other."""
    script = f"import socket, ssl, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 3); {then}"
    words = f'python3 -c "{script}" $port 2>/dev/null'
    return f"for port in {' '.join(map(str, ports))}; do {words}; done; true"


BY_TLS = (
    "c = ssl._create_unverified_context(); t = c.wrap_socket(s); t.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); "
    "print('read' if t.recv(1) else '')"
)
BY_HTTP = "s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); print('read' if b'HTTP' in s.recv(99) else '')"


async def test_no_command_without_the_whole_network_connects_to_agent_or_brain(
    target: Target, outside: Callable[..., str]
) -> None:
    ports = (*target.host_ports, *target.brain_ports)
    line = connect_to(ports)
    assert outside(line).count("reached") == len(ports) >= 2, "the control"
    for tier in (Tier.COMMANDS, Tier.REGISTRIES):
        assert "reached" not in await attack(target, line, tier)


async def test_with_the_whole_network_a_command_is_let_in_nowhere_without_a_certificate(
    target: Target, tmp_path: Path
) -> None:
    """The command reaches the ports as anybody does: they are those of TLS alone, and want a certificate of ours."""
    ours = load_certificates(target.certs, "host")
    create_certificates(tmp_path / "theirs", ["one"])
    theirs = load_certificates(tmp_path / "theirs" / "hosts" / "one", "host")
    ports = (*target.host_ports, *target.brain_ports)
    for port in ports:
        assert await to_thread.run_sync(is_let_in, port, ours), f"the control: {port}"
        assert not await to_thread.run_sync(is_let_in, port, theirs)
        assert not await to_thread.run_sync(is_let_in, port, None)
    reached = await attack(target, connect_to(ports), Tier.EVERYTHING)
    assert reached.count("reached") == len(ports), "the control: it has the network of the machine"
    for files, then in ((theirs, BY_TLS), (None, BY_HTTP)):
        with serve_page(files) as page:
            read = await attack(target, connect_to((*ports, page), then=then), Tier.EVERYTHING)
        assert read.count("read") == 1, "only the page that is the control"


@contextmanager
def serve_page(files: CertificateFiles | None) -> Iterator[int]:
    """Serve pages to everybody, with TLS where there is a certificate; the port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        if files is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(files.certificate, files.key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def is_let_in(port: int, files: CertificateFiles | None) -> bool:
    """Return True if the other side speaks with the holder of a certificate, or with nobody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if files is not None:
        context.load_cert_chain(files.certificate, files.key)
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as plain, context.wrap_socket(plain) as secured:
            return bool(secured.recv(1))
    except (ssl.SSLError, ConnectionError):
        return False
