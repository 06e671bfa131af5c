"""Addresses in the configuration: hosts with their ports, and URLs of forges."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from orchestrator.domain.text.lazy_pattern import compile_lazily

_HOST_PORT = compile_lazily(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")


_MAX_PORT = 65_535


def parse_host_port(text: str) -> tuple[str, int]:
    """Return the host, without the brackets of an IPv6 address, and the port of `HOST:PORT`.

    Raises:
        ValueError: it is none.
    """
    host, _, port = text.rpartition(":")
    if _HOST_PORT.fullmatch(text) is None or int(port) > _MAX_PORT:
        raise ValueError(f"{text!r} is no HOST:PORT, such as packages.example:443")
    return host.strip("[]"), int(port)


def format_host_port(host: str, port: int) -> str:
    """Return `HOST:PORT`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _check_host_port(text: str) -> str:
    parse_host_port(text)
    return text


HostPort = Annotated[str, AfterValidator(_check_host_port)]


def _check_forge_url(text: str) -> str:
    """Return the URL without its last slash; refuse one that would get a token unencrypted over a network."""
    parts = urlsplit(text)
    is_here = parts.scheme == "http" and parts.hostname in {"127.0.0.1", "::1", "localhost"}
    if not (parts.scheme == "https" or is_here) or not parts.hostname:
        raise ValueError(f"{text!r} is no URL that begins with https://")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("must hold neither a user nor a query: the token is taken from the variable under token_env")
    return text.rstrip("/")


ForgeUrl = Annotated[str, AfterValidator(_check_forge_url)]
