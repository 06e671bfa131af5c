"""Archives of runs, and directories that one job of a CI system hands to the next."""

import gzip
import io
import json
import tarfile
import zlib
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzzing.ground import Ground
from tests.fuzzing.mutations import encode_json, mutate_bytes, mutate_document
from tests.fuzzing.target import Given, Target
from tests.running.projects import git

_CHANGES = ("bytes", "member", "member-fitted", "manifest", "manifest", "manifest-bytes", "gzip")
_UNREADABLE = (
    *(tarfile.TarError, EOFError, OSError, zlib.error),
    *(KeyError, ValueError, AttributeError, TypeError, OverflowError),
)
_HANDOVER: dict[str, Any] = {
    "format": "orchestrate.handover/1",
    "ticket": {
        "format": "orchestrate.ticket/1",
        "key": "issue-1",
        "run": "20260101-000000-abcd",
        "hop": 1,
        "max_hops": 20,
        "lease": None,
    },
    "tips": {"refs/orchestrate/x": None},
    "status": "done",
    "exit": 0,
    "reason": "done",
    "resumable": False,
    "cost_usd": 0.0,
    "pull_requests": [],
}


def _make_case(chance: Random) -> Given:
    given: Given = [["run", chance.randrange(3)]]
    for _ in range(chance.choice((1, 1, 2))):
        given.append([chance.choice(_CHANGES), chance.randrange(2**32)])
    return given


def _run_case(given: Given, place: Path) -> None:
    ground = Ground(place)
    archive = place / "run.tar"
    for kind, number in given:
        if kind == "run":
            run = ground.list_runs()[number].run
            done = ground.call_verb("run", "export", run, str(archive), *ground.where)
            assert done.code == 0, done
        else:
            archive.write_bytes(_change_archive(Random(number), archive.read_bytes(), kind))
    git(ground.repo, "clone", "-q", "--single-branch", "-b", "main", ".", str(place / "clone"))
    where = ("--repo", str(place / "clone"), "--state", str(place / "there"))
    done = ground.call_verb("run", "import", str(archive), *where)
    if done.code == 0:
        ground.call_verb("status", *where)


def _change_archive(chance: Random, content: bytes, kind: str) -> bytes:
    if kind == "bytes":
        return mutate_bytes(chance, content)
    if kind == "gzip":
        return mutate_bytes(chance, gzip.compress(content, mtime=0))
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            members = {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr]
        manifest = json.loads(members.pop("manifest.json"))
        return _write_changed(chance, members, manifest, kind)
    except _UNREADABLE:
        return content  # changed beyond what can be changed further


def _write_changed(chance: Random, members: dict[str, bytes], manifest: Any, kind: str) -> bytes:
    if kind.startswith("member"):
        name = chance.choice(sorted(members))
        members[name] = mutate_bytes(chance, members[name])
        if kind == "member-fitted":
            manifest["members"][name] = {
                "size": len(members[name]),
                "sha256": sha256(members[name]).hexdigest(),
            }
    if kind == "manifest":
        manifest = mutate_document(chance, manifest)
    text = encode_json(manifest)
    if kind == "manifest-bytes":
        text = mutate_bytes(chance, text)
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, value in {"manifest.json": text, **members}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(value)
            tar.addfile(entry, io.BytesIO(value))
    return made.getvalue()


def _make_handover(chance: Random) -> Given:
    content = encode_json(mutate_document(chance, _HANDOVER))
    if chance.random() < 0.4:
        content = mutate_bytes(chance, content)
    return [content, chance.random() < 0.5]


def _run_handover(given: Given, place: Path) -> None:
    content, has_archive = given
    ground = Ground(place)
    (place / "handover").mkdir()
    (place / "handover" / "handover.json").write_bytes(content)
    if has_archive:
        run = ground.list_runs()[0].run
        ground.call_verb("run", "export", run, str(place / "handover" / "run.tar.gz"), *ground.where)
    git(ground.repo, "clone", "-q", "--bare", ".", str(place / "origin.git"))
    git(ground.repo, "remote", "add", "origin", str(place / "origin.git"))
    ground.call_verb("ci", "publish", str(place / "handover"), *ground.where)


TARGET = Target("archives", _make_case, _run_case, has_ground=True)
HANDOVERS = Target("handovers", _make_handover, _run_handover, has_ground=True)
