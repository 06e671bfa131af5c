"""The archive as a file: a tar, gzipped unless its name ends in `.tar`, read with suspicion.

Reading does not go through tarfile's own loop: what it would obey (links, extended headers, sparse files) is refused.
"""

import gzip
import hashlib
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast

from pydantic import ValidationError

from orchestrator.domain.text.validation_problems import describe_first_problem
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.portable import manifest as manifests
from worktrees.durable_files import replace_durably

_BLOCK = 512
_CHUNK = 1024 * 1024
_MANIFEST_BYTES = 256 * 1024 * 1024
_MARGIN_BYTES = 16 * 1024 * 1024
_MAGIC_GZIP = b"\x1f\x8b"


def write_archive(target: Path, manifest: manifests.Manifest, files: Mapping[str, Path]) -> int:
    """Write the archive in place of whatever `target` was, readable by its owner only; gives its size in bytes.

    Args:
        target: the file; it changes only when everything has been written.
        manifest: its first member.
        files: where each of the manifest's members lies now.

    Raises:
        EnvironmentProblem: it cannot be written, or a file is not what the manifest says.
    """
    try:
        with replace_durably(target) as draft, _compressed(draft, target.name) as stream:
            _write_members(stream, manifest, files)
    except OSError as error:
        raise EnvironmentProblem(f"the archive {target} cannot be written: {error.strerror}") from error
    return target.stat().st_size


@contextmanager
def _compressed(file: object, name: str) -> Iterator[BinaryIO]:
    raw = cast("BinaryIO", file)
    if name.endswith(".tar"):
        yield raw
        return
    with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as stream:
        yield cast("BinaryIO", stream)


def _write_members(stream: BinaryIO, manifest: manifests.Manifest, files: Mapping[str, Path]) -> None:
    text = manifest.model_dump_json(indent=1).encode()
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        tar.addfile(_entry(manifests.MANIFEST_FILE, len(text)), BytesIO(text))
        for name, member in manifest.members.items():
            with files[name].open("rb") as content:
                if os.fstat(content.fileno()).st_size != member.size:
                    raise EnvironmentProblem(f"{files[name]} changed while it was exported: export again")
                tar.addfile(_entry(name, member.size), content)


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    return entry


def read_manifest(archive: Path) -> manifests.Manifest:
    """Return the manifest alone.

    Raises:
        UsageProblem: the file is no archive of a run, or damaged.
    """
    with _opened(archive) as stream:
        return _manifest(stream, archive)


def unpack_archive(archive: Path, into: Path) -> manifests.Manifest:
    """Unpack into an empty directory; every file has the size and hash that the manifest says, and none is missing.

    Raises:
        UsageProblem: the file is no archive of a run, or it is damaged, incomplete or not made by this program.
        EnvironmentProblem: there is no room for it.
    """
    with _opened(archive) as stream:
        manifest = _manifest(stream, archive)
        _require_names(manifest, archive)
        _require_room(sum(member.size for member in manifest.members.values()), into)
        expected = dict(manifest.members)
        while (header := _header(stream, archive)) is not None:
            member = expected.pop(header.name, None)
            if member is None or member.size != header.size:
                raise _wrong(archive, f"{header.name!r} is not in its manifest, or has another size there")
            _unpack_member(stream, member, into / header.name, archive)
    if expected:
        raise _wrong(archive, f"{len(expected)} of its files are missing, the first is {min(expected)}")
    return manifest


def _manifest(stream: BinaryIO, archive: Path) -> manifests.Manifest:
    header = _header(stream, archive)
    if header is None or header.name != manifests.MANIFEST_FILE or header.size > _MANIFEST_BYTES:
        raise _wrong(archive, f"it does not begin with {manifests.MANIFEST_FILE}")
    try:
        return manifests.Manifest.model_validate_json(b"".join(_content(stream, header.size, archive)))
    except ValidationError as error:
        problem = describe_first_problem(error, manifests.MANIFEST_FILE)
        raise UsageProblem(
            f"{archive} has a manifest that this version of orchestrate does not understand ({problem}): "
            "import it with the version that wrote it, or a newer one"
        ) from error


def _require_names(manifest: manifests.Manifest, archive: Path) -> None:
    names = manifest.members.keys()
    needed = {manifests.JOURNAL_FILE, manifests.OBJECTS_FILE}
    strange = sorted(names - needed - set(manifest.blobs.values()))
    if strange or not needed <= names:
        raise _wrong(archive, f"its manifest names {strange[0]!r}" if strange else "it holds no journal or no objects")
    if any(sha != manifest.members[name].sha256 for sha, name in manifest.blobs.items()):
        raise _wrong(archive, "a blob's name is not its hash")


def _require_room(needed: int, place: Path) -> None:
    free = shutil.disk_usage(place).free
    if needed + _MARGIN_BYTES > free:
        raise EnvironmentProblem(f"{place} has {free} bytes free, and the run takes {needed}: free some disk space")


def _unpack_member(stream: BinaryIO, member: manifests.ArchiveMember, target: Path, archive: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("xb") as file:
        for chunk in _content(stream, member.size, archive):
            digest.update(chunk)
            file.write(chunk)
    if digest.hexdigest() != member.sha256:
        raise _wrong(archive, f"{target.name} does not have the hash that the manifest says")


def _header(stream: BinaryIO, archive: Path) -> tarfile.TarInfo | None:
    """Return the next member's header; None at the end of the archive."""
    block = stream.read(_BLOCK)
    if block == bytes(_BLOCK):
        return None
    try:
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise _wrong(archive, f"it breaks off or is damaged ({error})") from error
    if header.type not in {tarfile.REGTYPE, tarfile.AREGTYPE} or header.size < 0:
        raise _wrong(archive, f"{header.name!r} is no plain file")
    return header


def _content(stream: BinaryIO, size: int, archive: Path) -> Iterator[bytes]:
    left = size + -size % _BLOCK
    while left:
        chunk = stream.read(min(_CHUNK, left))
        if not chunk:
            raise _wrong(archive, "it breaks off")
        left -= len(chunk)
        padding = _BLOCK - size % _BLOCK if not left and size % _BLOCK else 0
        yield chunk[: len(chunk) - padding]


@contextmanager
def _opened(archive: Path) -> Iterator[BinaryIO]:
    try:
        with archive.open("rb") as raw:
            is_gzip = raw.read(2) == _MAGIC_GZIP
            raw.seek(0)
            if not is_gzip:
                yield raw
                return
            with gzip.GzipFile(fileobj=raw, mode="rb") as stream:
                yield cast("BinaryIO", stream)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _wrong(archive, f"it breaks off or is damaged ({error})") from error
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        if error.filename != str(archive):
            raise
        raise UsageProblem(f"{archive}: {error.strerror}: name a file that `orchestrate run export` wrote") from error


def _wrong(archive: Path, what: str) -> UsageProblem:
    return UsageProblem(f"{archive} cannot be imported: {what}. Nothing was changed; export the run again")
