"""Finds the other hosts on which package registries keep their files: each is asked once, for one package of its own.

The asking is ours, from outside a sandbox, and only of addresses in the user's own configuration.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from orchestrator.domain.text.lazy_pattern import compile_lazily

_TIMEOUT_S = 10.0
_PAGE_BYTES = 4 * 1024 * 1024
_PORTS = {"http": 80, "https": 443}
_HREF = compile_lazily(r"""<a\s[^>]*?href\s*=\s*["']([^"'#]+)""", re.IGNORECASE)
_SIMPLE = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"


class RegistryUnreachable(Exception):
    """The registry could not be asked, or sent an unknown answer; the text says which."""


def find_index_file_hosts(url: str, certificate: str = "") -> Mapping[str, bool]:
    """Return each `host:port` that a Python package index links to for the files of pip itself, and if it is plain.

    Blocks.

    Raises:
        RegistryUnreachable: it could not be asked, or sent an unknown answer.
    """
    page = url.rstrip("/") + "/pip/"
    text, page_url = _fetch_page(page, _SIMPLE, certificate)
    try:
        links = [str(entry["url"]) for entry in json.loads(text)["files"]]
    except (ValueError, KeyError, TypeError):
        from html import unescape

        links = list(map(unescape, _HREF.findall(text)))
    return _map_hosts(page_url, links)


def find_npm_file_hosts(url: str, certificate: str = "") -> Mapping[str, bool]:
    """Return each `host:port` that an npm registry names for the archive of npm itself, and if it is plain. Blocks.

    Raises:
        RegistryUnreachable: it could not be asked, or sent an unknown answer.
    """
    text, page_url = _fetch_page(url.rstrip("/") + "/npm/latest", "application/json", certificate)
    try:
        return _map_hosts(page_url, [str(json.loads(text)["dist"]["tarball"])])
    except (ValueError, KeyError, TypeError) as error:
        raise RegistryUnreachable("it answered something else than a package") from error


def get_url_host_port(url: str) -> str | None:
    """Return the `host:port` of an http or https address, lower case; None for anything else."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname:
        return None
    if ":" in parts.hostname:
        return f"[{parts.hostname}]:{port}"
    return f"{parts.hostname}:{port}"


def is_plaintext_url(url: str) -> bool:
    """Return True if an address is spoken to without TLS."""
    return urlsplit(url).scheme == "http"


def strip_credentials(url: str) -> str:
    """Return the address without a user's name and password."""
    parts = urlsplit(url)
    if "@" in parts.netloc:
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return url


def _map_hosts(base: str, links: list[str]) -> Mapping[str, bool]:
    urls = [urljoin(base, link) for link in links]
    plain = {get_url_host_port(url) for url in urls if is_plaintext_url(url)}
    return {host_port: host_port in plain for url in urls if (host_port := get_url_host_port(url))}


def _fetch_page(url: str, accept: str, certificate: str) -> tuple[str, str]:
    import ssl  # a web client takes its time to load, and few runs ask registries
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPSHandler, Request, build_opener

    try:
        context = ssl.create_default_context(cafile=certificate if Path(certificate).is_file() else None)
        opener = build_opener(HTTPSHandler(context=context))
        request = Request(strip_credentials(url), headers={"Accept": accept})
        with opener.open(request, timeout=_TIMEOUT_S) as answer:
            return answer.read(_PAGE_BYTES).decode("utf-8", "replace"), answer.geturl()
    except HTTPError as error:
        error.close()
        raise RegistryUnreachable(str(error)) from error
    except (URLError, HTTPException, OSError, ValueError) as error:
        raise RegistryUnreachable(str(error)) from error
