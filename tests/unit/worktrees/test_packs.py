"""Objects that travel: only sound and whole packs get into a repository, and until then it does not see them."""

from pathlib import Path

import anyio
import pytest

from tests.unit.worktrees.conftest import Project
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.bundle_header import BundleHeader, read_bundle_header
from worktrees.object_store.packs import (
    QuarantinedPack,
    find_existing_objects,
    find_prerequisites,
    read_object_format,
    write_pack,
)
from worktrees.ref_store.refs import move_refs
from worktrees.repositories.repository import GitRepository


def clone(project: Project, place: Path, *options: str) -> GitRepository:
    project.git("clone", "-q", *options, project.root.as_uri(), str(place))
    return GitRepository.open(place)


async def packed(project: Project, repository: GitRepository, scratch: Path) -> tuple[str, Path]:
    """A commit on top of what clones have, and a pack of what it adds."""
    base = repository.read_head_commit()
    commit = project.commit({"new.txt": "new\n", "src/app.py": "print('changed')\n"})
    return commit, await write_pack(repository.git, [commit], [base], scratch / "pack")


async def arrived(repository: GitRepository, pack: Path, place: Path) -> QuarantinedPack:
    await anyio.Path(place).mkdir()
    return await QuarantinedPack.examine_pack(repository, pack, place)


@pytest.mark.parametrize("name", ["plain", 'a "quoted" \\ name', "two\nlines", "with:colon", "# hash"])
async def test_a_pack_is_seen_only_after_its_release_wherever_the_repository_lies(
    project: Project, repository: GitRepository, tmp_path: Path, name: str
) -> None:
    other = clone(project, tmp_path / name)
    base = other.read_head_commit()
    commit, pack = await packed(project, repository, tmp_path)
    quarantine = await arrived(other, pack, tmp_path / "quarantine")
    await quarantine.check_complete([commit], [base])
    assert await quarantine.git.run_text("cat-file", "blob", f"{commit}:README.md") == "hello"
    assert await find_existing_objects(other.git, [commit]) == {}
    await quarantine.release_objects()
    await quarantine.release_objects()
    assert await find_existing_objects(other.git, [commit, "0" * 40, "no id"]) == {commit: "commit"}
    assert await other.git.run_text("fsck", "--strict") == f"dangling commit {commit}"


async def test_a_damaged_pack_is_refused(project: Project, repository: GitRepository, tmp_path: Path) -> None:
    other = clone(project, tmp_path / "other")
    _, pack = await packed(project, repository, tmp_path)
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "damaged").write_bytes(content)
    with pytest.raises(GitError):
        await arrived(other, tmp_path / "damaged", tmp_path / "quarantine")


async def test_a_pack_that_rests_on_what_is_not_there_is_refused(
    project: Project, repository: GitRepository, tmp_path: Path
) -> None:
    other = clone(project, tmp_path / "other")
    base, between = other.read_head_commit(), project.commit({"between.txt": "x\n"})
    commit, pack = await packed(project, repository, tmp_path)
    with pytest.raises(GitError, match="did not receive expected object"):
        await arrived(other, pack, tmp_path / "quarantine")
    _, pack = await packed(project, repository, tmp_path)
    third = clone(project, tmp_path / "third")
    quarantine = await arrived(third, pack, tmp_path / "second")
    with pytest.raises(GitError):
        await quarantine.check_complete([commit, "1" * 40], [base, between])


async def test_what_no_ref_holds_is_packed_by_its_id(
    project: Project, repository: GitRepository, tmp_path: Path
) -> None:
    other = clone(project, tmp_path / "other")
    blob = project.git("hash-object", "-w", "--stdin", stdin=b"alone")
    tree = project.git("mktree", stdin=f"100644 blob {blob}\tdeep.txt\n".encode())
    pack = await write_pack(repository.git, [tree], [other.read_head_commit()], tmp_path / "pack")
    quarantine = await arrived(other, pack, tmp_path / "quarantine")
    await quarantine.release_objects()
    assert await find_existing_objects(other.git, [tree, blob]) == {tree: "tree", blob: "blob"}


async def test_nothing_to_pack_is_no_trouble(project: Project, repository: GitRepository, tmp_path: Path) -> None:
    other, head = clone(project, tmp_path / "other"), repository.read_head_commit()
    pack = await write_pack(repository.git, [head], [head], tmp_path / "pack")
    before = sorted((other.common_dir / "objects" / "pack").iterdir())
    quarantine = await arrived(other, pack, tmp_path / "quarantine")
    await quarantine.check_complete([head], [head])
    await quarantine.release_objects()
    assert sorted((other.common_dir / "objects" / "pack").iterdir()) == before


async def test_a_shallow_clone_can_give_and_take_what_is_on_top_of_its_base(project: Project, tmp_path: Path) -> None:
    project.commit({"second.txt": "2\n"})
    shallow, other = clone(project, tmp_path / "shallow", "--depth", "1"), clone(project, tmp_path / "other")
    base = shallow.read_head_commit()
    commit, pack = await packed(Project(shallow.root), shallow, tmp_path)
    quarantine = await arrived(other, pack, tmp_path / "quarantine")
    await quarantine.check_complete([commit], [base])
    back = Project(other.root).commit({"third.txt": "3\n"})
    pack = await write_pack(other.git, [back], [base], tmp_path / "pack")
    quarantine = await arrived(shallow, pack, tmp_path / "back")
    await quarantine.check_complete([back], [base])
    await quarantine.release_objects()
    assert Project(shallow.root).git("cat-file", "-t", back).strip() == "commit"


async def test_a_repository_with_long_hashes_packs_and_bundles_too(tmp_path: Path) -> None:
    project = Project(tmp_path / "long")
    project.root.mkdir()
    project.git("init", "-q", "-b", "main", "--object-format=sha256")
    project.commit({"a.txt": "a\n"})
    repository, other = GitRepository.open(project.root), clone(project, tmp_path / "other")
    base = other.read_head_commit()
    commit, pack = await packed(project, repository, tmp_path)
    head = BundleHeader({"refs/heads/x": commit}, (base,), await read_object_format(repository.git))
    (tmp_path / "x.bundle").write_bytes(head.to_bytes() + pack.read_bytes())
    assert "x.bundle is okay" in Project(other.root).complaint("bundle", "verify", str(tmp_path / "x.bundle"))
    quarantine = await arrived(other, pack, tmp_path / "quarantine")
    await quarantine.check_complete([commit], [base])


async def test_a_bundle_is_one_that_git_itself_takes_in(
    project: Project, repository: GitRepository, tmp_path: Path
) -> None:
    other = clone(project, tmp_path / "other")
    commit, pack = await packed(project, repository, tmp_path)
    head = BundleHeader({"refs/heads/x": commit, "refs/orchestrate/r/ü": commit}, (other.read_head_commit(),), "sha1")
    bundle = tmp_path / "x.bundle"
    bundle.write_bytes(head.to_bytes() + pack.read_bytes())
    with bundle.open("rb") as file:
        assert read_bundle_header(file) == head
        assert file.read() == pack.read_bytes()
    Project(other.root).git("fetch", "-q", str(bundle), "+refs/heads/x:refs/heads/x")
    assert await find_existing_objects(other.git, [commit]) == {commit: "commit"}


@pytest.mark.parametrize(
    "head", [b"", b"PACK", b"# v2 git bundle\n", b"# v2 git bundle\nxyz refs/heads/x\n\n", b"\n" * 9]
)
def test_what_is_no_bundle_is_refused(head: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(head)
    with (tmp_path / "x").open("rb") as file, pytest.raises(GitError, match="bundle"):
        read_bundle_header(file)


async def test_the_base_is_presupposed_as_far_as_remotes_have_it(project: Project, tmp_path: Path) -> None:
    first = project.git("rev-parse", "HEAD")
    repository = GitRepository.open(project.root)
    assert await find_prerequisites(repository.git, first) == (first,)
    other = clone(project, tmp_path / "other")
    mine = Project(other.root).commit({"mine.txt": "x\n"})
    assert await find_prerequisites(other.git, first) == (first,)
    assert await find_prerequisites(other.git, mine) == (first,)
    Project(other.root).git("checkout", "-q", "--orphan", "alone")
    alone = Project(other.root).commit({"alone.txt": "x\n"})
    assert await find_prerequisites(other.git, alone) == ()


async def test_refs_move_together_or_not_at_all(project: Project, repository: GitRepository) -> None:
    first, second = repository.read_head_commit(), project.commit({"x": "x"})
    await move_refs(repository.git, {"refs/orchestrate/r/a": (first, None)}, "x")
    moves = {"refs/orchestrate/r/b": (first, None), "refs/orchestrate/r/a": (second, second)}
    with pytest.raises(GitError):
        await move_refs(repository.git, moves, "x")
    git = Git(repository.common_dir)
    assert await git.run_text("for-each-ref", "--format=%(refname) %(objectname)", "refs/orchestrate") == (
        f"refs/orchestrate/r/a {first}"
    )
    await move_refs(repository.git, {}, "x")
