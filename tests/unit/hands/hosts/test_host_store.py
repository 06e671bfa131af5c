"""The store of a host: what is sent lies in its own directory, whatever an archive says of itself."""

import tarfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from orchestrator.errors import EnvironmentProblem
from orchestrator.hands.hosts.agent.host_store import HostStore

pytestmark = pytest.mark.attack(77)

UPLOAD, FINGERPRINT = "a" * 32, "b" * 64
Member = tuple[str, bytes, str]
"""Name, type and target of a link."""
FILE, LINK, HARD, FOLDER = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE

WRITES: dict[str, Callable[[Path], list[Member]]] = {
    "a name with dots": lambda _: [("../../../outside/file", FILE, "")],
    "dots behind a folder": lambda _: [("env", FOLDER, ""), ("env/../../../../outside/file", FILE, "")],
    "an absolute name": lambda outside: [(f"{outside}/file", FILE, "")],
    "a link to a folder": lambda outside: [("env", LINK, str(outside)), ("env/file", FILE, "")],
    "a link of links": lambda outside: [("a", LINK, str(outside)), ("b", LINK, "a"), ("b/file", FILE, "")],
    "an odd spelling": lambda outside: [("env", LINK, str(outside)), ("./env//file", FILE, "")],
    "a hard link by its full name": lambda outside: [("file", HARD, f"{outside}/file"), ("file", FILE, "")],
    "a hard link by dots": lambda _: [("file", HARD, "../../../outside/file"), ("file", FILE, "")],
    "a hard link through a link": lambda outside: [
        ("a", LINK, str(outside)),
        ("file", HARD, "a/file"),
        ("file", FILE, ""),
    ],
}
ODD: dict[str, list[Member]] = {
    "a pipe": [("pipe", tarfile.FIFOTYPE, "")],
    "a device": [("disk", tarfile.BLKTYPE, "")],
    "a link in place of its directory": [(".", LINK, "/etc")],
}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory beside the store, with a file that stays as it is."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_text("mine")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> HostStore:
    return HostStore(tmp_path / "store")


def build_archive(members: list[Member]) -> bytes:
    content = BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, kind, target in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.mode = kind, target, 0o6777
            member.size = len(b"theirs") if kind == FILE else 0
            archive.addfile(member, BytesIO(b"theirs"))
    return content.getvalue()


def unpack(store: HostStore, members: list[Member]) -> Path:
    store.append_content(UPLOAD, 0, build_archive(members))
    store.unpack_borrowed(UPLOAD, FINGERPRINT)
    return store.get_borrowed_place(FINGERPRINT)


@pytest.mark.parametrize("way", WRITES)
def test_control_such_an_archive_writes_outside_where_nobody_looks(way: str, outside: Path, tmp_path: Path) -> None:
    place = tmp_path / "store" / "borrowed" / "draft"
    place.mkdir(parents=True)
    with tarfile.open(fileobj=BytesIO(build_archive(WRITES[way](outside)))) as archive:
        archive.extraction_filter = lambda member, _: member
        archive.extractall(place)
    linked = [entry for entry in place.rglob("file") if entry.is_file() and entry.samefile(outside / "file")]
    assert (outside / "file").read_text() == "theirs" or linked


@pytest.mark.parametrize("way", WRITES)
def test_no_archive_writes_outside_of_its_directory(way: str, outside: Path, store: HostStore) -> None:
    with pytest.raises(EnvironmentProblem, match="outside of the directory"):
        unpack(store, WRITES[way](outside))
    assert (outside / "file").read_text() == "mine"
    assert (outside / "file").stat().st_nlink == 1
    assert list((store.root / "borrowed").iterdir()) == []


@pytest.mark.parametrize("thing", ODD)
def test_nothing_but_files_links_and_folders_is_unpacked(thing: str, store: HostStore) -> None:
    with pytest.raises(EnvironmentProblem):
        unpack(store, ODD[thing])
    assert list((store.root / "borrowed").iterdir()) == []


def test_an_environment_keeps_its_links_wherever_they_lead(store: HostStore) -> None:
    members = [
        ("env", FOLDER, ""),
        ("env/python", LINK, "/usr/bin/python3"),
        ("env/python3", LINK, "python"),
        ("env/tool", FILE, ""),
        ("env/same", HARD, "env/tool"),
    ]
    place = unpack(store, members)
    assert (place / "env/python").readlink() == Path("/usr/bin/python3")
    assert (place / "env/python3").readlink() == Path("python")
    assert (place / "env/same").samefile(place / "env/tool")


def test_no_file_keeps_bits_by_which_it_runs_as_its_owner_or_others_write_it(store: HostStore) -> None:
    place = unpack(store, [("env", FOLDER, ""), ("env/tool", FILE, "")])
    assert (place / "env/tool").stat().st_mode & 0o7777 == 0o755
