"""Tier 2: what the proxy lets through, what goes around it, and what a package's own code gets hold of."""

import importlib.util
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.agent.tools.shell import build_shell_tool
from orchestrator.config.policy_file import parse_rule_set
from orchestrator.domain.policy.rules import HostRules, PolicyActor
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.network import NetworkDecision
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import ToolRefused
from orchestrator.hands.local import LocalHands
from orchestrator.hands.network.allowlist import EgressAllowlist
from orchestrator.hands.network.egress_proxy import PROXY_SOCKET, EgressProxy, serve_proxy
from orchestrator.hands.policy import CommandLimits, GrantedFolder, RegistryGrant, SandboxGrant
from tests.running.index import Loopback, loopback
from tests.unit.hands.conftest import Ran, Yard, ran

NAMES = {
    "packages.test": ["127.0.0.1"],
    "rebound.test": ["127.0.0.1"],
    "mixed.test": ["192.0.2.1", "127.0.0.1"],
    "wrapped.test": ["::ffff:127.0.0.1"],
    "metadata.test": ["169.254.169.254"],
}


async def resolve(host: str, port: int) -> Sequence[str]:
    """What a name server under an attacker's control might say."""
    try:
        return NAMES[host]
    except KeyError:
        raise OSError("no such host") from None


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as served:
        yield served


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    made = tmp_path / ("long" * 30)  # longer than a socket's path may be
    made.mkdir()
    return made


def proxy(server: Loopback, budget_bytes: int = 1_000_000) -> EgressProxy:
    port = server.port
    private = {f"packages.test:{port}", f"127.0.0.1:{port}", f"metadata.test:{port}"}
    allowed = {f"{name}:{port}" for name in NAMES} | {f"packages.test:{port}", f"metadata.test:{port}"}
    return EgressProxy(
        EgressAllowlist(frozenset(allowed), frozenset(private), frozenset(allowed)), budget_bytes, resolve
    )


async def asked(folder: Path, text: str) -> str:
    """All that the proxy answers to bytes written to its socket."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        async with await anyio.connect_unix(f"/proc/self/fd/{handle}/{PROXY_SOCKET}") as stream:
            await stream.send(text.encode("latin-1"))
            await stream.send_eof()
            answer = b""
            with anyio.fail_after(120):
                try:
                    while True:
                        answer += await stream.receive()
                except anyio.EndOfStream:
                    return answer.decode("latin-1")
    finally:
        os.close(handle)


def through(place: str) -> str:
    return f"CONNECT {place} HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n"


@pytest.mark.attack(33)
@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("evil.test:{port}", "not one of the package registries"),
        ("packages.test.evil.test:{port}", "not one of the package registries"),
        ("evil.test\0.packages.test:{port}", "no plain host name"),
        ("packages.test\0:{port}", "no plain host name"),
        ("evil.test%00.packages.test:{port}", "no plain host name"),
        ("päckages.test:{port}", "no plain host name"),
        ("packages.test.:{port}", "no plain host name"),
        ("user@packages.test:{port}", "no plain host name"),
        ("127.0.0.1:{port}", "an address"),
        ("2130706433:{port}", "an address"),
        ("0x7f000001:{port}", "an address"),
        ("0x7f.1:{port}", "an address"),
        ("127.1:{port}", "an address"),
        ("0177.0.0.1:{port}", "an address"),
        ("[::1]:{port}", "no plain host name"),
        ("::1:{port}", "no plain host name"),
        ("packages.test:1", "not one of the package registries"),
        ("packages.test", "no host:port"),
        ("packages.test:0{port}0", "no host:port"),
        ("rebound.test:{port}", "resolves to 127.0.0.1, a private address"),
        ("mixed.test:{port}", "resolves to 192.0.2.1, a private address"),
        ("wrapped.test:{port}", "resolves to ::ffff:127.0.0.1, a private address"),
        ("metadata.test:{port}", "resolves to 169.254.169.254, which is never dialled"),
    ],
)
async def test_33_the_proxy_leads_nowhere_else(server: Loopback, folder: Path, place: str, why: str) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as direct:
        direct.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert b"200 OK" in direct.recv(4096)
    server.asked.clear()
    guard = proxy(server)
    async with serve_proxy(folder, guard):
        assert "hello" in await asked(folder, through(f"packages.test:{server.port}"))
        answer = await asked(folder, through(place.format(port=server.port)))
    assert answer.startswith("HTTP/1.1 403 ")
    assert why in answer
    assert server.asked == ["GET /"]
    passed, refused = guard.decisions
    assert (passed.allowed, passed.host, passed.port) == (True, "packages.test", server.port)
    assert passed.sent_bytes == len("GET / HTTP/1.0\r\n\r\n")
    assert passed.received_bytes > 100
    assert not refused.allowed
    assert why in refused.reason


@pytest.mark.attack(33)
@pytest.mark.parametrize(
    "request_text",
    [
        "GET http://packages.test:{port}/ HTTP/1.1\r\nHost: packages.test\r\n\r\n",
        "POST http://packages.test:{port}/ HTTP/1.1\r\n\r\n",
        "connect packages.test:{port} HTTP/1.1\r\n\r\n",
        "CONNECT  packages.test:{port} HTTP/1.1\r\n\r\n",
        "CONNECT packages.test:{port} HTTP/1.1 \r\n\r\n",
        "CONNECT packages.test:{port}\r\n\r\n",
        "\x05\x01\x00\r\n\r\n",
        "CONNECT packages.test:{port} HTTP/1.1\r\n" + "X: y\r\n" * 3000 + "\r\n",
    ],
)
async def test_33_the_proxy_answers_connect_alone(server: Loopback, folder: Path, request_text: str) -> None:
    guard = proxy(server)
    async with serve_proxy(folder, guard):
        answer = await asked(folder, request_text.format(port=server.port))
    assert answer.startswith("HTTP/1.1 403 ")
    assert server.asked == []
    assert [decision.allowed for decision in guard.decisions] == [False]


async def test_bytes_are_counted_over_both_directions_and_end_with_the_budget(server: Loopback, folder: Path) -> None:
    server.pages["/large"] = b"x" * 300_000
    guard = proxy(server, budget_bytes=200_000)
    async with serve_proxy(folder, guard):
        place = f"packages.test:{server.port}"
        large = await asked(folder, f"CONNECT {place} HTTP/1.1\r\n\r\nGET /large HTTP/1.0\r\n\r\n")
        assert len(large) < 250_000
        assert "403" in await asked(folder, through(place))
    moved = sum(decision.sent_bytes + decision.received_bytes for decision in guard.decisions)
    assert 100_000 < moved <= 200_000
    assert [d.reason for d in guard.decisions if not d.allowed] == [
        "the command has moved its 200,000 bytes (registry_mb under [hands])"
    ]


@pytest.mark.attack(16)
async def test_connections_without_number_cost_few_descriptors_and_no_other_command_its_way_out(
    server: Loopback, folder: Path
) -> None:
    guard, count = proxy(server), lambda: len(list(Path("/proc/self/fd").iterdir()))
    async with serve_proxy(folder, guard):
        before, handle = count(), os.open(folder, os.O_RDONLY)
        held = [socket.socket(socket.AF_UNIX) for _ in range(300)]
        for client in held:
            client.connect(f"/proc/self/fd/{handle}/{PROXY_SOCKET}")
        await anyio.sleep(0.1)
        assert count() - before - len(held) < 100
        for one in (*held, handle):
            one.close() if isinstance(one, socket.socket) else os.close(one)
        assert "hello" in await asked(folder, through(f"packages.test:{server.port}"))
    with socket.create_server(("127.0.0.1", 0)) as plain:  # what takes whoever comes
        clients = [socket.create_connection(plain.getsockname()) for _ in range(120)]
        taken = [plain.accept()[0] for _ in clients]
        assert count() - before > 200
        for client in (*clients, *taken):
            client.close()


async def test_a_command_that_asks_without_end_is_told_of_in_sum(server: Loopback, folder: Path) -> None:
    guard = proxy(server)
    async with serve_proxy(folder, guard):
        for number in range(130):
            await asked(folder, through(f"evil{number}.test:1"))
            await asked(folder, through("again.test:1"))
    assert len(guard.decisions) <= 101
    assert sum(decision.times for decision in guard.decisions) == 260
    again = next(decision for decision in guard.decisions if decision.host == "again.test")
    assert again.times == 130


# From here on in the sandbox.


def opened(yard: Yard, server: Loopback, **grant: Any) -> AbstractAsyncContextManager[LocalHands]:
    """Hands of a user whose pip is configured for the index on loopback."""
    options: dict[str, Any] = {
        "ceiling": Tier.REGISTRIES,
        "registries": RegistryGrant(private=(server.place,)),
        "read_only": (GrantedFolder(path=sys.prefix, origin="test"),) if sys.prefix != sys.base_prefix else (),
    }
    return yard.hands(SandboxGrant(**(options | grant)), environ=pip_alone(server.index))


def pip_alone(index: str) -> dict[str, str]:
    """Variables of a user who has configured pip in them and nowhere else, and has no npm."""
    return {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index, "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": ""}


@pytest.fixture
async def tier_2(yard: Yard, server: Loopback) -> AsyncIterator[Any]:
    """Runs a command at tier 2."""
    async with opened(yard, server) as hands:
        assert hands.refusal_reason is None
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))

        async def run(line: str, **options: Any) -> Ran:
            return await ran(workspace, line, tier=Tier.REGISTRIES, **options)

        yield run


FETCH = "python3 -c \"import urllib.request as u; print(u.urlopen('{url}', timeout=5).read())\""
DIRECT = "python3 -c \"import socket; s = socket.create_connection(('{host}', {port}), 5); print('CONNECTED')\""


@pytest.mark.sandbox
async def test_a_command_at_tier_2_reaches_a_registry_and_says_how_much_it_moved(tier_2: Any, server: Loopback) -> None:
    done = await tier_2(FETCH.format(url=f"http://{server.place}/"))
    assert done.output == "b'hello from outside'\n"
    (decision,) = done.result.network
    assert (decision.host, decision.port, decision.allowed) == ("localhost", server.port, True)
    assert decision.received_bytes > len("hello from outside")


@pytest.mark.attack(33)
@pytest.mark.sandbox
async def test_33_a_command_is_refused_every_other_host_and_the_refusal_is_kept(tier_2: Any, server: Loopback) -> None:
    with loopback() as other:
        done = await tier_2(FETCH.format(url=f"http://{other.place}/"))
        assert done.exit_code == 1
        assert "403" in done.output
        assert other.asked == []
    assert done.result.network == (
        NetworkDecision(
            host="localhost", port=other.port, allowed=False, reason="it is not one of the package registries"
        ),
    )


@pytest.mark.sandbox
async def test_a_model_is_told_what_its_command_was_kept_from(yard: Yard, server: Loopback) -> None:
    async with opened(yard, server) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        shell = build_shell_tool(workspace, 20.0, 1_000_000, lambda: Tier.REGISTRIES)
        result = await shell(json.dumps({"command": FETCH.format(url="http://evil.test/") + "; true"}))
    assert "[the network refused evil.test:80: it is not one of the package registries]" in result.text
    assert [decision.host for decision in result.network] == ["evil.test"]


@pytest.mark.extended
@pytest.mark.sandbox
async def test_a_registry_that_the_policy_does_not_allow_is_refused(yard: Yard, server: Loopback) -> None:
    text = '[[rule]]\neffect = "ask"\nhosts = "localhost"\n'
    rules = HostRules(actor=PolicyActor(role="worker"), rule_sets=(parse_rule_set(text, "user", "policy.toml"),))
    async with opened(yard, server) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        shell = build_shell_tool(workspace, 20.0, 1_000_000, lambda: Tier.REGISTRIES, host_rules=lambda: rules)
        result = await shell(json.dumps({"command": FETCH.format(url=f"http://localhost:{server.port}/")}))
    assert f"[the network refused localhost:{server.port}: the policy refuses it]" in result.text
    assert "GET /" not in server.asked


def test_a_host_that_the_policy_took_away_is_refused_although_it_may_be_private() -> None:
    place = frozenset({"packages.test:443"})
    hosts = EgressAllowlist(frozenset(), private=place, plain=place, refused=place)
    assert hosts.find_name_objection("packages.test", 443) == "the policy refuses it"


@pytest.mark.attack(34)
@pytest.mark.sandbox
async def test_34_going_around_the_proxy_leads_nowhere(tier_2: Any, server: Loopback) -> None:
    around = DIRECT.format(host="127.0.0.1", port=server.port)
    control = subprocess.run(["bash", "-c", around], capture_output=True, text=True, check=True)  # noqa: ASYNC221
    assert control.stdout == "CONNECTED\n"
    done = await tier_2(
        f"echo BOOTED; {around}; unset http_proxy HTTP_PROXY; {FETCH.format(url=f'http://127.0.0.1:{server.port}/')}; "
        f"(echo > /dev/tcp/localhost/{server.port}) && echo CONNECTED; timeout 2 getent ahosts example.test; true"
    )
    assert done.output.startswith("BOOTED\n")
    assert "CONNECTED" not in done.output
    assert "hello" not in done.output
    assert "GET /" not in server.asked


@pytest.mark.sandbox
async def test_a_command_without_tier_2_has_no_proxy(yard: Yard, server: Loopback) -> None:
    async with opened(yard, server) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        done = await ran(workspace, f"env | grep -i _proxy=; ls /run; {DIRECT.format(host='127.0.0.1', port=3128)}")
    assert "_proxy=" not in done.output.lower()
    assert "registries" not in done.output
    assert "CONNECTED" not in done.output
    assert done.result.network == ()


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("line", "code"),
    [("exit 7", 7), ("kill -TERM $$", 143), ("kill -9 $$", 137), ("true", 0), ("no-such-command", 127)],
)
async def test_the_way_out_changes_no_exit_code(tier_2: Any, line: str, code: int) -> None:
    assert (await tier_2(line)).exit_code == code


def ignored_here() -> int:
    """The signals that this process ignores, but for the one that Python itself does, as a mask."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"SigIgn:\s*(\w+)", status)[0], 16) & ~(1 << signal.SIGPIPE - 1)


@pytest.mark.sandbox
async def test_the_way_out_changes_nothing_else_of_a_command(tier_2: Any) -> None:
    done = await tier_2(
        "yes | head -n 1; ls /proc/self/fd | wc -l; trap - PIPE; grep SigIgn /proc/$$/status", timeout_s=60.0
    )
    printed, count, _, ignored = done.output.split()
    assert (printed, count) == ("y", "4")
    assert int(ignored, 16) & ~ignored_here() == 0  # whoever started us may have left some ignored
    assert (await tier_2("cat", stdin="told")).output == "told"


@pytest.mark.sandbox
async def test_commands_end_at_their_time_limit_and_leave_no_process(tier_2: Any, living: Any) -> None:
    token = f"98{os.getpid()}.3"
    done = await tier_2(f"sleep {token}", timeout_s=1.0)
    assert done.result.ending == "timed-out"
    assert living(token) == []  # the forwarder has it among its words as well


@pytest.mark.sandbox
async def test_the_hash_of_the_policy_tells_the_tiers_and_the_registries_apart(yard: Yard, server: Loopback) -> None:
    async with opened(yard, server) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        one, two = await workspace.get_policy_hash(Tier.COMMANDS), await workspace.get_policy_hash(Tier.REGISTRIES)
    with loopback() as other:
        async with opened(yard, other) as hands:
            workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
            assert await workspace.get_policy_hash(Tier.COMMANDS) == one
            assert await workspace.get_policy_hash(Tier.REGISTRIES) not in (one, two)


@pytest.mark.sandbox
async def test_tier_2_without_any_registry_is_refused_with_the_reason(yard: Yard) -> None:
    environ = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    async with yard.hands(SandboxGrant(ceiling=Tier.REGISTRIES), environ=environ) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        with pytest.raises(ToolRefused, match=r"registries under \[hands\] names none"):
            await ran(workspace, "true", tier=Tier.REGISTRIES)


@pytest.mark.sandbox
async def test_no_tier_above_the_granted_one_is_to_be_had(yard: Yard, server: Loopback) -> None:
    async with opened(yard, server) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        with pytest.raises(ToolRefused, match="the highest is 2"):
            await ran(workspace, "true", tier=Tier.EVERYTHING)


@pytest.mark.sandbox
async def test_tier_3_has_the_network_and_still_no_files_and_sockets_of_the_host(yard: Yard, server: Loopback) -> None:
    (yard.home / "secret").write_text("canary-4711")
    short = Path("/tmp") / f"canary-{os.getpid()}.sock"
    try:
        with socket.socket(socket.AF_UNIX) as agent:
            agent.bind(str(short))
            agent.listen()
            probe = f"python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{short}'); print('AGENT')\""
            assert b"AGENT" in subprocess.run(["bash", "-c", probe], capture_output=True, check=True).stdout  # noqa: ASYNC221
            async with yard.hands(SandboxGrant(ceiling=Tier.EVERYTHING)) as hands:
                workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
                fetch = FETCH.format(url=f"http://{server.place}/")
                done = await ran(workspace, f"{fetch}; cat {yard.home}/secret; {probe}", tier=Tier.EVERYTHING)
    finally:
        short.unlink(missing_ok=True)
    assert done.output.startswith("b'hello from outside'\n")
    assert "canary-4711" not in done.output
    assert "AGENT" not in done.output


HOOK = """\
import pathlib, sys
def prepare_metadata_for_build_wheel(directory, settings=None): _ran(); raise SystemExit("hooked")
def build_wheel(directory, settings=None, metadata=None): _ran(); raise SystemExit("hooked")
def get_requires_for_build_wheel(settings=None): _ran(); return []
def _ran():
    for place in {places!r}:
        try: pathlib.Path(place).write_text("ran")
        except OSError: pass
"""
BUILT = "[build-system]\nrequires = []\nbuild-backend = 'hook'\nbackend-path = ['.']\n"
PIP = "{python} -m pip install --no-cache-dir --disable-pip-version-check --target /tmp/target-{pid} hooked"


def source_archive(**files: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"hooked-1.0/{name.replace('__', '.')}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


@pytest.mark.attack(35)
@pytest.mark.sandbox
@pytest.mark.timeout(600)
async def test_35_the_build_hook_of_a_source_package_runs_inside_alone(
    tier_2: Any, yard: Yard, server: Loopback
) -> None:
    pip = importlib.util.find_spec("pip")
    if pip is None or not Path(str(pip.origin)).is_relative_to(sys.prefix):
        pytest.skip("this Python has no pip that a sandbox could use (that of make setup has)")
    marker, inside = yard.home / "marker", yard.repo / "marker"
    places = [str(marker), str(inside)]
    info = "Metadata-Version: 2.1\nName: hooked\nVersion: 1.0\n"
    archive = source_archive(hook__py=HOOK.format(places=places), pyproject__toml=BUILT, **{"PKG-INFO": info})
    server.add_source("hooked", archive)
    line = PIP.format(python=sys.executable, pid=os.getpid())
    done = await tier_2(f"{line}; cat marker", timeout_s=120.0)
    assert done.output.endswith("ran"), done.output
    assert not marker.exists()
    assert not inside.exists()
    environ = os.environ | pip_alone(server.index)
    subprocess.run(["bash", "-c", line], env=environ, capture_output=True, check=False)  # noqa: ASYNC221
    assert marker.exists()


@pytest.mark.extended
@pytest.mark.attack(35)
@pytest.mark.sandbox
@pytest.mark.timeout(600)
async def test_35_the_install_script_of_an_npm_package_runs_inside_alone(yard: Yard, server: Loopback) -> None:
    if not shutil.which("npm"):
        pytest.skip("npm is not installed (make setup installs it)")
    marker = yard.home / "marker"
    script = f"echo ran > {marker}; echo ran > ../../marker; exit 0"
    files = {
        "hooked/package.json": {"name": "hooked", "version": "1.0.0", "scripts": {"postinstall": script}},
        "package.json": {"name": "top", "version": "1.0.0", "dependencies": {"hooked": "file:hooked"}},
    }
    commit = yard.commit({name: json.dumps(content) for name, content in files.items()})
    line = "npm install --install-links --offline --no-audit --foreground-scripts"
    async with opened(yard, server, limits=CommandLimits(processes=2048)) as hands:
        workspace = await hands.open_workspace(commit, Purpose("test"))
        done = await ran(workspace, f"{line}; cat node_modules/../marker", tier=Tier.REGISTRIES, timeout_s=120.0)
        assert done.output.rstrip().endswith("ran")
    assert not marker.exists()
    subprocess.run(["bash", "-c", line], cwd=yard.repo, capture_output=True, check=True)  # noqa: ASYNC221
    assert marker.exists()
