"""The /etc of a sandbox: the host's public files, and users of its own."""

import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

HOST_NAME = "sandbox"

RESOLVER_FILES = ("resolv.conf", "hosts")
"""The files by which the host finds addresses: commands with the whole network get them, others get our own."""

_COPIED = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "os-release"),
    *("ssl/openssl.cnf", "ssl/cert.pem", "ca-certificates", "ca-certificates.conf"),
    *("pki/tls/openssl.cnf", "pki/tls/cert.pem", "crypto-policies"),
    *("mime.types", "magic", "protocols", "services", "shells", "inputrc", "terminfo", "perl", "python3*"),
    *("maven", "debian_version", "lsb-release", "redhat-release", "alpine-release", "login.defs"),
)
_BOUND = ("alternatives", "ssl/certs", "pki/tls/certs", "pki/ca-trust", "java-*", "fonts")
"""Large directories: a mount costs a tenth of a millisecond for each command, copying them far more at the start."""

_SWITCH = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n"
_RESOLVER = "nameserver 192.0.2.1\noptions attempts:1\n"
"""An address of nobody: without a network looking up a name fails at once, and counts as a packet without a way out."""

_HOSTS = f"127.0.0.1 localhost {HOST_NAME}\n::1 localhost {HOST_NAME}\n"


@dataclass(frozen=True)
class SandboxUser:
    """The user that commands run as: ids, and home directory and shell as seen inside."""

    uid: int
    gid: int
    home: str
    shell: str


def create_etc(target: Path, user: SandboxUser, source: Path = Path("/etc")) -> str:
    """Fill the new directory `target`; return the user's name, or `agent` where the host has none.

    Only files that everybody on the host may read are copied.
    """
    _create_folder(target)
    for name in list_etc_mounts(source):
        _create_folder(target / name)
    for pattern in _COPIED:
        for found in source.glob(pattern):
            _create_folder((target / found.relative_to(source)).parent)
            _copy_entry(found, target / found.relative_to(source))
    user_entry = f"x:{user.uid}:{user.gid}::{user.home}:{user.shell}"
    users, name = _set_entry(_read_lines(source / "passwd"), user.uid, user_entry)
    groups, _ = _set_entry(_read_lines(source / "group"), user.gid, f"x:{user.gid}:")
    texts = {"nsswitch.conf": _SWITCH, "hosts": _HOSTS, "resolv.conf": _RESOLVER, "hostname": HOST_NAME + "\n"}
    for file, text in {"passwd": users, "group": groups, **texts}.items():
        _write_file(target / file, text)
    return name


def list_etc_mounts(source: Path = Path("/etc")) -> tuple[str, ...]:
    """Return the public directories of the host that are to be mounted into a copy, relative to `source`."""
    names = []
    for pattern in _BOUND:
        for path in sorted(source.glob(pattern)):
            if path.is_dir() and path.stat().st_mode & stat.S_IROTH:
                names.append(str(path.relative_to(source)))
    return tuple(names)


def _set_entry(lines: list[str], number: int, rest: str) -> tuple[str, str]:
    """Return the table with one entry for the id, under the name it has or `agent`; and that name."""
    matching = [line for line in lines if line.split(":")[2:3] == [str(number)]]
    name = matching[0].split(":")[0] if matching else "agent"
    kept_lines = [line for line in lines if line not in matching and line.split(":")[0] != name]
    return "".join(line + "\n" for line in [*kept_lines, f"{name}:{rest}"]), name


def _read_lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []


def _write_file(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", errors="surrogateescape")
    file.chmod(0o644)


def _create_folder(path: Path) -> None:
    """Create a directory and its parents so that everybody may enter them, whatever the umask."""
    if not path.is_dir():
        _create_folder(path.parent)
        path.mkdir()
        path.chmod(0o755)


def _copy_entry(source: Path, target: Path) -> None:
    """Copy links as links, public files and folders; leave out what is private, special or vanishes meanwhile."""
    try:
        mode = source.lstat().st_mode
        if stat.S_ISLNK(mode):
            target.symlink_to(source.readlink())
        elif stat.S_ISDIR(mode) and mode & stat.S_IROTH:
            _create_folder(target)
            for child in source.iterdir():
                _copy_entry(child, target / child.name)
        elif stat.S_ISREG(mode) and mode & stat.S_IROTH:
            shutil.copyfile(source, target)
            target.chmod(mode & 0o755 | 0o444)
    except (PermissionError, FileNotFoundError, FileExistsError):
        return
