"""The way out of one command at tier 2: a directory for the sandbox with the proxy's socket, and what leads to it."""

import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from orchestrator.domain.policy.decision import allows_host
from orchestrator.domain.policy.rules import HostRules
from orchestrator.domain.sandbox.network import NetworkDecision
from orchestrator.hands.files.directory_trees import remove_tree
from orchestrator.hands.network import egress_proxy
from orchestrator.hands.network.allowlist import EgressAllowlist, split_host_port
from orchestrator.hands.network.registries import NPMRC, PIP_CONF, REGISTRIES_FOLDER
from orchestrator.hands.policy import Registries
from orchestrator.hands.toolchain.interpreters import get_own_python, read_script

FORWARDER_PORT = 3128
_ADDRESS = f"http://127.0.0.1:{FORWARDER_PORT}"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_FORWARDER = "forwarder.py"


@dataclass(frozen=True)
class Egress:
    """An open way to the registries for one command; `decisions` are complete when it is closed.

    `folder` is to be bound read-only at `REGISTRIES_FOLDER`, `words` are put before the command's own.
    """

    folder: Path
    registries: Registries
    proxy: egress_proxy.EgressProxy

    @property
    def words(self) -> tuple[str, ...]:
        """The words that start the forwarder, which then becomes the command; our own Python must be there inside."""
        script, proxy = f"{REGISTRIES_FOLDER}/{_FORWARDER}", f"{REGISTRIES_FOLDER}/{egress_proxy.PROXY_SOCKET}"
        return (str(get_own_python()), "-I", "-S", script, proxy, str(FORWARDER_PORT))

    @property
    def decisions(self) -> tuple[NetworkDecision, ...]:
        """The hosts that the command reached, and those it was refused."""
        return self.proxy.decisions


def build_proxy_environment(registries: Registries) -> dict[str, str]:
    """Return the variables that only commands at tier 2 see."""
    hosts = {found[0].strip("[]") for host_port in registries.hosts if (found := split_host_port(host_port))}
    direct = ",".join(name for name in _LOOPBACK if name not in hosts)
    lower = {"http_proxy": _ADDRESS, "https_proxy": _ADDRESS, "no_proxy": direct}
    upper = {name.upper(): value for name, value in lower.items()}
    pip_conf, npmrc = f"{REGISTRIES_FOLDER}/{PIP_CONF}", f"{REGISTRIES_FOLDER}/{NPMRC}"
    return {**lower, **upper, "PIP_CONFIG_FILE": pip_conf, "npm_config_userconfig": npmrc}


@asynccontextmanager
async def open_egress(
    registries: Registries,
    parent: Path,
    resolve: egress_proxy.ResolveHost = egress_proxy.resolve_addresses,
    host_rules: HostRules | None = None,
) -> AsyncIterator[Egress]:
    """Open a way to these registries while the block lasts, in a new directory below `parent`.

    Hosts that `host_rules` do not allow are refused.

    Raises:
        OSError: the host could not prepare it.
    """
    folder = parent / secrets.token_hex(8)
    hosts, refused = frozenset(registries.hosts), _find_refused_hosts(registries, host_rules)
    allowlist = EgressAllowlist(
        hosts - refused, frozenset(registries.private), frozenset(registries.plain), refused=refused
    )
    proxy = egress_proxy.EgressProxy(allowlist, registries.budget_bytes, resolve)
    try:
        await to_thread.run_sync(_fill_folder, folder, registries)
        async with egress_proxy.serve_proxy(folder, proxy):
            yield Egress(folder, registries, proxy)
    finally:
        remove_tree(folder)


def _find_refused_hosts(registries: Registries, rules: HostRules | None) -> frozenset[str]:
    if rules is None:
        return frozenset()
    return frozenset(host for host in registries.hosts if not allows_host(rules, host))


def _fill_folder(folder: Path, registries: Registries) -> None:
    """Fill the folder with files that everybody may read; its parent directory keeps others out."""
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    for name, text in {**registries.settings, _FORWARDER: read_script("network", _FORWARDER)}.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o644)
    for name, source in registries.certificates.items():
        shutil.copyfile(source, folder / name)
        (folder / name).chmod(0o644)
