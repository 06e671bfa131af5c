"""A bare directory in which the user's git talks to remotes: a repository's objects and refs without its settings.

A repository's own configuration can name programs (`core.sshCommand`, `credential.helper`, `remote.*.receivepack`, …),
proxies and other addresses. Nobody can list all such keys, so none is read but those that say where a remote is. The
user's own configuration stays in force. It is copied, because parts of it may count for this repository's place alone.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LIST_SETTINGS = ("config", "--list", "--show-scope", "-z")
_SHARED = ("objects", "refs", "packed-refs", "reftable", "logs", "shallow")
_USER_SCOPES = frozenset({"system", "global"})
_OWN_SCOPES = frozenset({"local", "worktree"})
_ADDRESS = re.compile(r"remote\.(?P<name>.+)\.(url|pushurl)", re.DOTALL)
_HEADER = re.compile(r"http\.(.+\.)?extraheader", re.DOTALL)
"""What checkouts of CI jobs are authorized by. A header runs nothing, and goes where the remote is anyway."""
_EXTENSION = re.compile(r"extensions\.(objectformat|refstorage|partialclone)")
_REACHING = re.compile(
    r"core\.(sshcommand|askpass|gitproxy)|ssh\..*|credential\..*|http\..*|url\..*|protocol\..*"
    r"|remote\..*\.(receivepack|uploadpack|proxy.*|vcs)",
    re.DOTALL,
)
_PROTOCOLS = ("http", "https", "ssh", "git", "file")
"""What git itself speaks; everything else is a program called `git-remote-…`."""
_SPECIAL = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\b": "\\b"})


@dataclass(frozen=True)
class ListedSetting:
    """One line of configuration: which scope it is of, its key, and its value; None where only the key stands."""

    scope: str
    key: str
    value: str | None

    @property
    def is_from_user(self) -> bool:
        """Return True if the user or the system says it, and not the repository."""
        return self.scope in _USER_SCOPES


def parse_settings(output: bytes) -> tuple[ListedSetting, ...]:
    """Return the settings that the command `LISTING` wrote, in their order."""
    fields = output.decode("utf-8", "surrogateescape").split("\0")
    found = []
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, newline, value = entry.partition("\n")
        found.append(ListedSetting(scope, key, value if newline else None))
    return tuple(found)


def list_ignored_keys(listed: Iterable[ListedSetting]) -> tuple[str, ...]:
    """Return the keys by which the repository's own configuration would say how remotes are reached, sorted."""
    own = set()
    for one in listed:
        if one.scope in _OWN_SCOPES and _REACHING.fullmatch(one.key):
            own.add(one.key)
    return tuple(sorted(key for key in own if not _HEADER.fullmatch(key)))


def create_remote_view(git_dir: Path, place: Path, listed: Sequence[ListedSetting]) -> Path:
    """Make the empty directory `place` a bare repository with the objects and refs of `git_dir`.

    Returns the file that stands for the user's own configuration. Blocks.

    Raises:
        OSError: something cannot be written.
    """
    for name in _SHARED:
        (place / name).symlink_to(git_dir / name)
    (place / "HEAD").write_text("ref: refs/heads/.invalid\n", encoding="ascii")
    if git_dir.name == ".git":
        base = git_dir.parent
    else:
        base = git_dir
    _write_settings(place / "config", _own_settings(listed, base))
    _write_settings(place / "user.gitconfig", _user_settings(listed))
    return place / "user.gitconfig"


def _own_settings(listed: Iterable[ListedSetting], base: Path) -> Iterator[tuple[str, str | None]]:
    yield "core.repositoryFormatVersion", "1"
    yield "core.bare", "true"
    for one in listed:
        if one.scope not in _OWN_SCOPES or one.value is None:
            continue
        if address := _ADDRESS.fullmatch(one.key):
            yield one.key, _make_absolute(one.value, base)
            if one.key.endswith(".url"):
                yield f"remote.{address['name']}.fetch", f"+refs/heads/*:refs/remotes/{address['name']}/*"
        elif _HEADER.fullmatch(one.key) or _EXTENSION.fullmatch(one.key):
            yield one.key, one.value
            if one.key == "extensions.partialclone":
                yield f"remote.{one.value}.promisor", "true"


def parse_local_path(address: str) -> Path | None:
    """Return the absolute path that an address of a remote names on this machine, None if it names none."""
    path = Path(address.removeprefix("file://"))
    if path.is_absolute():
        return path
    return None


def _make_absolute(address: str, base: Path) -> str:
    """Return an address that names the same from anywhere: a path may be relative to the checkout."""
    is_path = bool(address) and ":" not in address.partition("/")[0]
    if is_path:
        return str(base / address)
    return address


def _user_settings(listed: Iterable[ListedSetting]) -> Iterator[tuple[str, str | None]]:
    for protocol in _PROTOCOLS:
        yield f"protocol.{protocol}.allow", "always"
    for one in listed:
        if one.is_from_user and not one.key.startswith(("include.", "includeif.")):  # what they name is listed as well
            yield one.key, one.value


def _write_settings(file: Path, settings: Iterable[tuple[str, str | None]]) -> None:
    text = "".join(_format_setting(key, value) for key, value in settings)
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8", errors="surrogateescape")


def _format_setting(key: str, value: str | None) -> str:
    section, _, rest = key.partition(".")
    subsection, dot, name = rest.rpartition(".")
    escaped = subsection.replace("\\", "\\\\").replace('"', '\\"')
    if dot:
        head = f'[{section} "{escaped}"]'
    else:
        head = f"[{section}]"
    if value is None:
        return f"{head}\n\t{name}\n"
    return f'{head}\n\t{name} = "{value.translate(_SPECIAL)}"\n'
