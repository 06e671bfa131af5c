"""Finds the registries that commands at tier 2 reach: those that the user's own pip and npm are configured for.

Never the repository's files: they may name other registries, and the proxy refuses those.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urlsplit

import anyio
from anyio import to_thread

from orchestrator.hands.network import package_file_hosts
from orchestrator.hands.network.package_file_hosts import get_url_host_port, strip_credentials
from orchestrator.hands.network.pip_npm_settings import NpmSettings, PipSettings, read_npm_settings, read_pip_settings
from orchestrator.hands.policy import Registries, RegistryGrant
from orchestrator.hands.sandbox.backend import HostPaths

REGISTRIES_FOLDER = "/run/registries"
_PLAIN_PORT = ":80"
PIP_CONF, NPMRC, PIP_CA, NPM_CA = "pip.conf", "npmrc", "pip-authorities.pem", "npm-authorities.pem"


FindFileHosts = Callable[[str, str], Mapping[str, bool]]
"""Asks a registry at a URL, with a certificate, for the hosts of its files, and which are plain."""


@dataclass
class RegistrySource:
    """Finds the registries when they are first wanted: asking takes a second, and most runs never want them."""

    grant: RegistryGrant
    host_paths: HostPaths
    environ: Mapping[str, str]
    _found: Registries | None = None
    _lock: anyio.Lock = field(default_factory=anyio.Lock)

    async def get_registries(self) -> Registries:
        """Return the registries, the same at every call."""
        async with self._lock:
            if self._found is None:
                self._found = await find_registries(self.grant, self.host_paths, self.environ)
            return self._found


async def find_registries(grant: RegistryGrant, host_paths: HostPaths, environ: Mapping[str, str]) -> Registries:
    """Return what tier 2 reaches for this user; `notes` lists what could not be found out."""
    settings: dict[str, PipSettings | NpmSettings | None] = {}

    async def read_settings(name: str, read: Callable[..., PipSettings | NpmSettings | None]) -> None:
        settings[name] = await to_thread.run_sync(read, environ, host_paths.own_folders)

    async with anyio.create_task_group() as group:
        group.start_soon(read_settings, "pip", read_pip_settings)
        group.start_soon(read_settings, "npm", read_npm_settings)
    pip, npm = settings["pip"] or PipSettings(), settings["npm"]
    assert isinstance(pip, PipSettings) and not isinstance(npm, PipSettings)
    builder = _RegistryBuilder(host_paths, grant)
    if npm and "registry" not in npm.registries:
        note = "npm does not tell its registry (its address may hold credentials): name it under registries"
        builder.notes.append(note)
    npm = npm or NpmSettings()
    await builder.collect_hosts(pip, npm)
    return builder.build_registries(pip, npm)


@dataclass
class _RegistryBuilder:
    """Collects the registries that the user's pip and npm are configured for."""

    host_paths: HostPaths
    grant: RegistryGrant
    hosts: dict[str, None] = field(default_factory=dict)
    plain: set[str] = field(default_factory=set)
    folders: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    async def collect_hosts(self, pip: PipSettings, npm: NpmSettings) -> None:
        """Collect hosts and directories of all addresses, and the hosts of their files."""
        npm_urls = tuple(npm.registries.values())
        for url in (*pip.indexes, *pip.find_links, *npm_urls):
            self._add_url(url, is_index=url not in pip.find_links)
        self.plain.update(map(str.lower, self.grant.plain))
        if self.grant.named:
            self.hosts = dict.fromkeys(map(str.lower, self.grant.named))
            return
        async with anyio.create_task_group() as group:
            for url in pip.indexes:
                group.start_soon(self._ask_file_hosts, package_file_hosts.find_index_file_hosts, url, pip.certificate)
            for url in npm_urls:
                group.start_soon(self._ask_file_hosts, package_file_hosts.find_npm_file_hosts, url, npm.certificate)

    def build_registries(self, pip: PipSettings, npm: NpmSettings) -> Registries:
        """Return the registries with configuration files that say the same to pip and npm inside."""
        certificates = {PIP_CA: pip.certificate, NPM_CA: npm.certificate}
        readable = {name: path for name, path in certificates.items() if Path(path).is_file()}
        plain = [host for host in self.hosts if host in self.plain or host.endswith(_PLAIN_PORT)]
        return Registries(
            hosts=tuple(sorted(self.hosts)),
            private=tuple(sorted(map(str.lower, self.grant.private))),
            plain=tuple(sorted(plain)),
            budget_bytes=self.grant.budget_bytes,
            folders=tuple(sorted(self.folders)),
            settings={PIP_CONF: _render_pip_conf(pip, readable), NPMRC: _render_npmrc(npm, readable)},
            certificates=readable,
            notes=tuple(sorted(self.notes)),
        )

    def _add_url(self, url: str, *, is_index: bool) -> None:
        if url != strip_credentials(url):
            place = get_url_host_port(url)
            self.notes.append(f"the credentials in the address of {place} never reach a sandbox: it is asked without")
        if host_port := get_url_host_port(url):
            self.hosts[host_port] = None
            if package_file_hosts.is_plaintext_url(url):
                self.plain.add(host_port)
        elif folder := _parse_folder(url, self.host_paths):
            self._add_folder(folder.parent if is_index and folder.name == "simple" else folder)

    def _add_folder(self, folder: Path) -> None:
        """Add a directory of packages, or a note saying why it may not be bound."""
        if folder.exists():
            objection = self.host_paths.find_bind_objection(folder)
        else:
            objection = "it does not exist"
        if objection:
            self.notes.append(f"the packages in {folder} are not to be had in a sandbox: {objection}")
        else:
            self.folders[str(folder)] = None

    async def _ask_file_hosts(self, find_hosts: FindFileHosts, url: str, certificate: str) -> None:
        if get_url_host_port(url) is None:
            return
        try:
            hosts = await to_thread.run_sync(find_hosts, url, certificate)
        except package_file_hosts.RegistryUnreachable as error:
            self.notes.append(f"{get_url_host_port(url)} could not be asked where it keeps its files: {error}")
            return
        self.hosts |= dict.fromkeys(hosts)
        self.plain |= {host_port for host_port, is_plain in hosts.items() if is_plain}


def _parse_folder(url: str, host_paths: HostPaths) -> Path | None:
    """Return the directory (or page of links) on this machine that a setting names, as pip takes it."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return Path(normpath(unquote(parts.path)))
    if parts.scheme:
        return None
    if url == "~" or url.startswith("~/"):
        return Path(normpath(str(host_paths.home) + url[1:]))
    if Path(url).is_absolute():
        return Path(normpath(url))
    return None


def _render_pip_conf(pip: PipSettings, certificates: Iterable[str]) -> str:
    indexes = list(map(strip_credentials, pip.indexes))
    values = {
        "index-url": indexes[:1],
        "extra-index-url": indexes[1:],
        "no-index": [] if indexes else ["true"],
        "find-links": list(map(strip_credentials, pip.find_links)),
        "trusted-host": list(pip.trusted_hosts),
        "timeout": [pip.timeout] if pip.timeout else [],
        "cert": [f"{REGISTRIES_FOLDER}/{PIP_CA}"] if PIP_CA in certificates else [],
        "disable-pip-version-check": ["true"],
        "no-input": ["true"],
    }
    lines = (f"{key} = " + "\n    ".join(entries) for key, entries in values.items() if entries)
    return "".join(f"{line}\n" for line in ("[global]", *lines))


def _render_npmrc(npm: NpmSettings, certificates: Iterable[str]) -> str:
    lines = ["audit=false", "fund=false", "update-notifier=false"]
    lines += [f"{name}={strip_credentials(url)}" for name, url in sorted(npm.registries.items())]
    if NPM_CA in certificates:
        lines.append(f"cafile={REGISTRIES_FOLDER}/{NPM_CA}")
    if not npm.is_strict:
        lines.append("strict-ssl=false")
    return "".join(f"{line}\n" for line in lines)
