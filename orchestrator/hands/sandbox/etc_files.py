"""The /etc of a sandbox: the host's public files, and the user, host and addresses of a world."""

import shutil
import stat
from pathlib import Path

from orchestrator.domain.sandbox.world import World

WORLD_FILES = ("passwd", "group", "hosts", "hostname")
"""The files of /etc that differ from world to world."""

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


def create_etc(target: Path, source: Path = Path("/etc")) -> None:
    """Fill the new directory `target` with what is the same in every world.

    Only files that everybody on the host may read are copied. Those of `create_world_etc` are there and empty.
    """
    _create_folder(target)
    for name in list_etc_mounts(source):
        _create_folder(target / name)
    for pattern in _COPIED:
        for found in source.glob(pattern):
            _create_folder((target / found.relative_to(source)).parent)
            _copy_entry(found, target / found.relative_to(source))
    for file, text in {"nsswitch.conf": _SWITCH, "resolv.conf": _RESOLVER, **dict.fromkeys(WORLD_FILES, "")}.items():
        _write_file(target / file, text)


def create_world_etc(target: Path, world: World, shell: str, source: Path = Path("/etc")) -> None:
    """Write the files of /etc that say who and where commands are into the directory `target`."""
    user_entry = f"x:{world.uid}:{world.gid}::{world.home}:{shell}"
    texts = {
        "passwd": _set_entry(_read_lines(source / "passwd"), world.user, world.uid, user_entry),
        "group": _set_entry(_read_lines(source / "group"), world.user, world.gid, f"x:{world.gid}:"),
        "hosts": f"127.0.0.1 localhost {world.host}\n::1 localhost {world.host}\n",
        "hostname": f"{world.host}\n",
    }
    for file, text in texts.items():
        _write_file(target / file, text)


def list_etc_mounts(source: Path = Path("/etc")) -> tuple[str, ...]:
    """Return the public directories of the host that are to be mounted into a copy, relative to `source`."""
    names = []
    for pattern in _BOUND:
        for path in sorted(source.glob(pattern)):
            if path.is_dir() and path.stat().st_mode & stat.S_IROTH:
                names.append(str(path.relative_to(source)))
    return tuple(names)


def _set_entry(lines: list[str], name: str, number: int, rest: str) -> str:
    """Return the table with one entry for a name and its id."""
    kept_lines = []
    for line in lines:
        fields = line.split(":")
        if fields[0] != name and fields[2:3] != [str(number)]:
            kept_lines.append(f"{line}\n")
    return "".join([*kept_lines, f"{name}:{rest}\n"])


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
