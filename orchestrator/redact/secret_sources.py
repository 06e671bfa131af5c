"""Sources of the user's secrets, so that this process knows what to take out: variables and a few files.

The values are kept in memory alone. Files are read as well as it goes: one that is missing or broken holds none.
"""

import netrc
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:(?:API|ACCESS|AUTH|PRIVATE)?_?(?:KEYS?|TOKENS?)|PASS|PWD|PAT|AUTH)(?:_|$)|CREDENTIAL|PASSW(?:OR)?D|SECRET",
    re.IGNORECASE,
)
_PASSWORD_NAME = re.compile(r"PASSWORD|PASSWD|SECRET", re.IGNORECASE)
_NOT_SECRET = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "XAUTHORITY"})
_WORDS = re.compile(r"[A-Za-z]+(?:[-_. ][A-Za-z]+)*\Z")
_NUMBER = re.compile(r"[\d.,:+-]+\Z")
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d\Z")
_NPM = re.compile(r"^(?:.*:)?(_authToken|_auth|_password)\s*=\s*\"?([^\"\s$]+)", re.MULTILINE)
_LONG_WORD = re.compile(r"[A-Za-z0-9_.~+/=-]{20,4096}")
_SHORTEST_TOKEN = 20
"""A name of a user without a password that is as long as this is a token."""
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"]+", re.IGNORECASE)


def collect_secrets(environ: Mapping[str, str], home: Path, named: Sequence[str] = ()) -> dict[str, str]:
    """Collect secret values by the name that may stand for them in a text.

    Args:
        environ: the process environment, of which variables count whose names are those of secrets.
        home: where the user's `.netrc`, pip and npm configuration lie. Blocks to read them.
        named: variables that hold secrets whatever they are called.
    """
    found = {}
    for name, value in environ.items():
        if (name in named and value) or _is_secret(name, value):
            found[name] = value
        found |= _find_in_urls(name, value)
    return found | _read_files(environ, home)


def _is_secret(name: str, value: str) -> bool:
    if name in _NOT_SECRET or not _SECRET_NAME.search(name):
        return False
    value = value.strip()
    if value.startswith(("/", "~/", "./")) or _NUMBER.match(value) or _REGION.match(value) or _URL.match(value):
        return False
    return bool(_PASSWORD_NAME.search(name)) or not _WORDS.match(value)


def read_file_secrets(path: Path) -> dict[str, str]:
    """Return what looks like a secret in a file of credentials: each of its long words, with a name.

    Blocks. A file that cannot be read has none.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    found = {}
    for number, word in enumerate(dict.fromkeys(_LONG_WORD.findall(text))):
        if not (word.startswith(("/", "~/")) or _NUMBER.match(word) or _WORDS.match(word)):
            found[f"{path.name} {number + 1}"] = word
    return found


def _read_files(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for place in (Path(environ.get("NETRC") or home / ".netrc"), home / "_netrc"):
        found |= _read_netrc(place)
    npmrc = Path(environ.get("NPM_CONFIG_USERCONFIG") or home / ".npmrc")
    for number, (_, secret) in enumerate(_NPM.findall(_read_text(npmrc)), start=1):
        found[f"npmrc-{number}"] = secret
    for place in (*_list_pip_files(environ, home), npmrc, home / ".pypirc", home / ".git-credentials"):
        found |= _find_in_urls(place.name.strip("."), _read_text(place))
    return found


def _list_pip_files(environ: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    configured = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    named = environ.get("PIP_CONFIG_FILE")
    usual = (home / ".pip" / "pip.conf", configured / "pip" / "pip.conf", Path("/etc/pip.conf"))
    return (*usual, Path(named)) if named else usual


def _read_netrc(place: Path) -> dict[str, str]:
    found = {}
    with suppress(OSError, netrc.NetrcParseError, UnicodeDecodeError, ValueError):
        for host, (_, _, password) in netrc.netrc(str(place)).hosts.items():
            if password:
                found[f"netrc-{host}"] = password
    return found


def _find_in_urls(source: str, text: str) -> dict[str, str]:
    """Return passwords in URLs and secrets in their queries as they are meant; a user without a password is a token."""
    found: dict[str, str] = {}
    if "://" not in text:
        return found
    for number, url in enumerate(_URL.findall(text), start=1):
        with suppress(ValueError):
            parts = urlsplit(url)
            name = f"{source}-url-{number}"
            found |= _find_in_query(name, parts.query)
            secret = parts.password
            if not secret and parts.username and len(parts.username) >= _SHORTEST_TOKEN:
                secret = parts.username
            if secret and not _WORDS.match(secret):
                found[name] = unquote(secret)
    return found


def _find_in_query(source: str, query: str) -> dict[str, str]:
    found = {}
    for name, value in parse_qsl(query):
        if _SECRET_NAME.search(name.replace("-", "_")) and not _WORDS.match(value) and not _NUMBER.match(value):
            found[f"{source}-{name}"] = value
    return found


def _read_text(place: Path) -> str:
    with suppress(OSError):
        return place.read_text(encoding="utf-8", errors="replace")
    return ""
