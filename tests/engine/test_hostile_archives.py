"""An archive is verified before anything changes: what is wrong with it is one clear line, and nothing is touched."""

import gzip
import tarfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UsageProblem
from tests.running.moving import Place, Source, everything, rewrite, with_sql

pytestmark = [pytest.mark.sandbox]

Members, Manifest = dict[str, bytes], dict[str, Any]
FOREIGN = "b" * 40


def add_a_file(members: Members, _: Manifest) -> None:
    members["../../escape"] = b"x"


def add_a_cache(members: Members, _: Manifest) -> None:
    members["search.db"] = b"x"


def leave_out_a_blob(members: Members, _: Manifest) -> None:
    del members[next(name for name in members if name.startswith("blobs/"))]


def swap_a_blob(members: Members, _: Manifest) -> None:
    members[next(name for name in members if name.startswith("blobs/"))] = b"something else"


def change_the_count(_: Members, manifest: Manifest) -> None:
    manifest["events"] -= 1


def name_another_run(_: Members, manifest: Manifest) -> None:
    manifest["run"] = "20200101-000000-abcd"


def climb_out(_: Members, manifest: Manifest) -> None:
    manifest["run"] = "../../../20200101-000000-abcd"


def come_from_the_future(_: Members, manifest: Manifest) -> None:
    manifest["format"] = "orchestrate.run/9"


def take_a_branch_of_the_user(_: Members, manifest: Manifest) -> None:
    manifest["branch"] = "main"


def set_a_ref_of_the_user(_: Members, manifest: Manifest) -> None:
    manifest["refs"]["refs/tags/v1"] = next(iter(manifest["refs"].values()))


def make_a_branch_that_hides_a_remotes(members: Members, manifest: Manifest) -> None:
    ref, oid = "refs/heads/origin/main", manifest["head"]
    manifest["refs"][ref] = oid
    head, end, pack = members["objects.bundle"].partition(b"\n\n")
    members["objects.bundle"] = head + f"\n{oid} {ref}".encode() + end + pack


def bring_the_branch_among_the_runs_refs(_: Members, manifest: Manifest) -> None:
    manifest["refs"][f"refs/heads/{manifest['branch']}"] = manifest["head"]


def move_the_branch_elsewhere(_: Members, manifest: Manifest) -> None:
    manifest["head"] = FOREIGN


def damage_the_pack(members: Members, _: Manifest) -> None:
    bundle = bytearray(members["objects.bundle"])
    bundle[-100] ^= 1
    members["objects.bundle"] = bytes(bundle)


def leave_out_the_pack(members: Members, _: Manifest) -> None:
    head, _, _ = members["objects.bundle"].partition(b"\n\n")
    members["objects.bundle"] = head + b"\n\n"


def bring_no_journal(members: Members, _: Manifest) -> None:
    members["journal.db"] = b"not a database at all" * 100


def plant(sql: str) -> Callable[[Members, Manifest], None]:
    def change(members: Members, manifest: Manifest) -> None:
        members["journal.db"] = with_sql(members["journal.db"], sql, Path(manifest.pop("scratch")))

    change.__name__ = sql[:24]
    return change


UNLOCKED = "DROP TRIGGER event_is_never_changed; DROP TRIGGER event_is_never_deleted;"
WRONG = {
    add_a_file: "its manifest names '../../escape'",
    add_a_cache: "its manifest names 'search.db'",
    leave_out_a_blob: "blobs that its journal names are not in it",
    swap_a_blob: "a blob's name is not its hash",
    change_the_count: "its manifest and its journal are not of the same run",
    name_another_run: "its manifest and its journal are not of the same run",
    climb_out: r"does not understand \(run: ",
    come_from_the_future: r"does not understand \(format: .*newer one",
    take_a_branch_of_the_user: "its manifest and its journal are not of the same run",
    set_a_ref_of_the_user: "it names the ref 'refs/tags/v1', which is none of this run",
    make_a_branch_that_hides_a_remotes: "it names the ref 'refs/heads/origin/main', which is none of this run",
    bring_the_branch_among_the_runs_refs: "it names the ref 'refs/heads/orchestrate/.*', which is none of this run",
    move_the_branch_elsewhere: "the bundle does not carry the refs that the manifest names",
    damage_the_pack: "its git objects are not sound",
    leave_out_the_pack: "its git objects are not sound",
    bring_no_journal: "cannot be imported: the journal .* not a database",
    plant(
        "CREATE TRIGGER evil AFTER INSERT ON event BEGIN SELECT 1; END"
    ): "its trigger evil is not what a journal has",
    plant("CREATE VIEW evil AS SELECT 1"): "its view evil is not what a journal has",
    plant(UNLOCKED): "its trigger event_is_never_changed, trigger event_is_never_deleted is not",
    plant("PRAGMA user_version = 99; PRAGMA application_id = 1332896611"): "has journal schema 99",
}


@pytest.mark.parametrize("change", WRONG, ids=lambda change: change.__name__)
async def test_an_archive_with_something_wrong_is_refused_and_nothing_changes(
    source: Source, place: Place, tmp_path: Path, change: Callable[[Members, Manifest], None]
) -> None:
    def apply(members: Members, manifest: Manifest) -> None:
        manifest["scratch"] = str(tmp_path / "scratch.db")
        change(members, manifest)
        manifest.pop("scratch", None)

    archive = rewrite(source.late, tmp_path / "wrong.tar", apply)
    before = everything(place)
    with pytest.raises(UsageProblem, match=WRONG[change]):
        await place.take(archive)
    assert everything(place) == before


async def test_a_history_with_a_hole_or_a_forged_event_is_refused(source: Source, place: Place, tmp_path: Path) -> None:
    for sql in ("DELETE FROM event WHERE seq = 5;", "UPDATE event SET body = '{}' WHERE seq = 1;"):

        def forge(members: Members, _: Manifest, sql: str = sql) -> None:
            triggers = "SELECT sql || ';' FROM sqlite_master WHERE type = 'trigger'"
            kept = [row[0] for row in _rows(members["journal.db"], triggers, tmp_path / "read.db")]
            forged = f"{UNLOCKED} {sql} {' '.join(kept)}"
            members["journal.db"] = with_sql(members["journal.db"], forged, tmp_path / "forged.db")

        archive = rewrite(source.late, tmp_path / "wrong.tar", forge)
        before = everything(place)
        with pytest.raises(UsageProblem, match="cannot be imported: "):
            await place.take(archive)
        assert everything(place) == before


def _rows(journal: bytes, sql: str, scratch: Path) -> list[tuple[str]]:
    import sqlite3

    scratch.write_bytes(journal)
    connection = sqlite3.connect(scratch)
    rows = connection.execute(sql).fetchall()
    connection.close()
    return rows


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, b"x", b"S"])
async def test_nothing_but_plain_files_is_read(place: Place, source: Source, tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(source.late) as tar, tarfile.open(tmp_path / "odd.tar", "w", format=tarfile.GNU_FORMAT) as odd:
        for number, entry in enumerate(tar):
            if number == 1:
                evil = tarfile.TarInfo("journal.db")
                evil.type, evil.linkname = kind, "/etc/passwd"
                odd.addfile(evil)
            odd.addfile(entry, tar.extractfile(entry))
    before = everything(place)
    with pytest.raises(UsageProblem, match="is no plain file"):
        await place.take(tmp_path / "odd.tar")
    assert everything(place) == before


async def test_no_byte_of_an_archive_can_change_unnoticed(source: Source, place: Place, tmp_path: Path) -> None:
    content = gzip.decompress(source.early.read_bytes())
    before, archive = everything(place), tmp_path / "flipped.tar"
    with tarfile.open(fileobj=BytesIO(content)) as tar:
        spans = [(entry.offset, entry.offset_data + entry.size) for entry in tar]
    places = [at for start, end in spans for at in {start, start + 130, end - 1, (start + end) // 2}]
    for at in places:  # between the spans is padding that nobody reads
        flipped = bytearray(content)
        flipped[at] ^= 0x10
        archive.write_bytes(bytes(flipped))
        with pytest.raises(UsageProblem):
            await place.take(archive)
    assert everything(place) == before


@pytest.mark.parametrize("part", [0, 500, 0.9])
@pytest.mark.parametrize("is_gzip", [True, False])
async def test_a_torn_archive_is_refused(
    source: Source, place: Place, tmp_path: Path, part: float, is_gzip: bool
) -> None:
    content = source.late.read_bytes()
    content = content if is_gzip else gzip.decompress(content)
    torn = tmp_path / "torn"
    torn.write_bytes(content[: part if isinstance(part, int) else int(part * len(content))])
    before = everything(place)
    with pytest.raises(UsageProblem, match=r"cannot be imported|does not understand"):
        await place.take(torn)
    assert everything(place) == before


async def test_what_is_no_archive_is_told_so(place: Place, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello\n" * 1000)
    with pytest.raises(UsageProblem, match="it breaks off or is damaged"):
        await place.take(tmp_path / "text")
    with pytest.raises(UsageProblem, match="name a file that `orchestrate run export` wrote"):
        await place.take(tmp_path / "nowhere")
    with pytest.raises(UsageProblem, match="name a file that `orchestrate run export` wrote"):
        await place.take(tmp_path)
