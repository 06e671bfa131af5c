"""The names and addresses that a sandbox may reach. Pure."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from orchestrator.domain.text.lazy_pattern import compile_lazily

_NAME = compile_lazily(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_NUMBER = compile_lazily(r"(0x[0-9a-f]*|[0-9]+)")
_PORT = compile_lazily(r"[0-9]{1,5}")
_NAT64 = IPv6Network("64:ff9b::/96")
_METADATA = frozenset(
    map(ip_address, ("169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"))
)
"""Addresses that give a machine in a cloud its credentials; the first is link-local, the others look like any."""


@dataclass(frozen=True)
class EgressAllowlist:
    """Sets of exact `host:port`, lower case: all that may be reached, those at private addresses, those without TLS.

    `refused` are those that the policy took away.
    """

    allowed: frozenset[str]
    private: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()

    def is_plaintext_allowed(self, host: str, port: int) -> bool:
        """Return True if a host may be spoken to without TLS."""
        return f"{host}:{port}" in self.plain

    def find_name_objection(self, host: str, port: int) -> str | None:
        """Return why a host may not be asked for by this name, or None."""
        if f"{host}:{port}" in self.allowed & self.private:
            return None
        if f"{host}:{port}" in self.refused:
            return "the policy refuses it"
        if len(host) > 253 or not _NAME.fullmatch(host):
            return "it is no plain host name"
        if _NUMBER.fullmatch(host.rpartition(".")[2]):
            return "it is an address, not a name"
        if f"{host}:{port}" not in self.allowed:
            return "it is not one of the package registries"
        return None

    def find_address_objection(self, address: str, host: str, port: int) -> str | None:
        """Return why the address that a host resolved to may not be dialled, or None."""
        found = _unwrap_address(address)
        if found in _METADATA or found.is_link_local or found.is_multicast or found.is_unspecified:
            return f"it resolves to {address}, which is never dialled"
        if not found.is_global and f"{host}:{port}" not in self.private:
            return f"it resolves to {address}, a private address (private_registries under [hands] would allow it)"
        return None


def split_host_port(target: str) -> tuple[str, int] | None:
    """Return host and port of `host:port`, the host in lower case; None if there is no port."""
    host, _, port = target.rpartition(":")
    if not host or not _PORT.fullmatch(port) or not 0 < int(port) < 65536:
        return None
    return host.lower(), int(port)


def strip_brackets(host: str) -> str:
    """Return the host without the brackets that an IPv6 address stands in."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def _unwrap_address(text: str) -> IPv4Address | IPv6Address:
    """Return the final address: an IPv4 address may be wrapped in an IPv6 address."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
