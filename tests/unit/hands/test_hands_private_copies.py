"""What a build may write to of what a workspace borrows, with the user's own files as the control."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.hands.policy import SandboxGrant
from orchestrator.hands.private_copies.stale_outputs import find_shared_outputs, select_stale_outputs
from tests.unit.hands.conftest import Yard, ran

pytestmark = pytest.mark.sandbox


def package(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "index.js").write_text(f"module.exports = {text}\n")


@pytest.mark.conformance
async def test_caches_below_node_modules_are_each_workspaces_own_and_packages_stay_as_they_are(yard: Yard) -> None:
    packages = yard.repo / "node_modules"
    package(packages / "left", "require('right') + require('@some/scoped')")
    package(packages / "right", "'right '")
    package(packages / "@some" / "scoped", "'scoped'")
    (packages / ".cache").mkdir()
    (packages / ".cache" / "old").write_text("of the user's own build\n")
    head = yard.git("rev-parse", "HEAD")
    async with yard.hands() as hands:
        first, second = [await hands.open_workspace(head, Purpose("test")) for _ in range(2)]
        wrote = await ran(
            first, "mkdir node_modules/.vite-temp/x && echo 1 > node_modules/.cache/new && ls node_modules/.cache"
        )
        assert (wrote.exit_code, wrote.output) == (0, "new\n")
        kept = await ran(first, "ls node_modules/.cache")
        assert kept.output == "new\n"
        apart = await ran(second, "ls node_modules/.cache")
        assert apart.output == ""
        for line in ("echo 1 > node_modules/left/index.js", "rm node_modules/left", "mkdir node_modules/other"):
            assert (await ran(second, line)).exit_code, line
        if shutil.which("node"):
            told = await ran(second, "node -p \"require('left')\"")
            assert told.output == "right scoped\n"
        taken = await first.take_snapshot("test", "refs/orchestrate/test")
        assert taken.tree == yard.git("rev-parse", "HEAD^{tree}")
    assert sorted(path.name for path in packages.iterdir()) == [".cache", "@some", "left", "right"]
    assert [path.name for path in (packages / ".cache").iterdir()] == ["old"]


async def test_packages_of_a_monorepo_are_those_of_the_workspace(yard: Yard) -> None:
    head = yard.commit({"packages/own/index.js": "module.exports = 'of the tree'\n"})
    (yard.repo / "node_modules" / "@my").mkdir(parents=True)
    (yard.repo / "node_modules" / "own").symlink_to("../packages/own")
    (yard.repo / "node_modules" / "@my" / "own").symlink_to("../../packages/own")
    (yard.repo / "packages" / "own" / "index.js").write_text("module.exports = 'of the checkout'\n")
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(head, Purpose("test"))
        seen = await ran(workspace, "cat node_modules/own/index.js node_modules/@my/own/index.js")
    assert seen.output.count("of the tree") == 2


@pytest.mark.conformance
async def test_a_build_may_replace_files_and_directories_that_the_user_shared(yard: Yard) -> None:
    head = yard.commit({".gitignore": "*.so\nbuild/\n"})
    (yard.repo / "fast.so").write_text("old\n")
    (yard.repo / "build").mkdir()
    (yard.repo / "build" / "part.o").write_text("old\n")
    rebuild = "cat fast.so build/part.o; rm -rf build fast.so && mkdir build && echo new | tee fast.so build/part.o"
    async with yard.hands(SandboxGrant(share=("*.so", "build"))) as hands:
        workspace = await hands.open_workspace(head, Purpose("test"))
        built = await ran(workspace, rebuild)
        assert (built.exit_code, built.output) == (0, "old\nold\nnew\n")
        later = await ran(workspace, "rm fast.so; cat fast.so build/part.o")
        assert "No such file" in later.output
        assert "old" not in later.output
        taken = await workspace.take_snapshot("test", "refs/orchestrate/test")
        assert taken.tree == yard.git("rev-parse", "HEAD^{tree}")
        await workspace.restore_tree(taken.tree, keeps_ignored=False)
        again = await ran(workspace, "cat fast.so build/part.o")
        assert again.output == "old\nold\n"
    assert (yard.repo / "fast.so").read_text() == (yard.repo / "build" / "part.o").read_text() == "old\n"


async def test_a_copy_never_takes_the_place_of_what_the_tree_has_or_follows_its_links(
    yard: Yard, tmp_path: Path
) -> None:
    base = yard.git("rev-parse", "HEAD")
    (tmp_path / "outside").mkdir()
    (yard.repo / "sub").symlink_to(tmp_path / "outside")
    (yard.repo / "own.so").write_text("of the tree\n")
    yard.git("add", "--force", "sub", "own.so")
    head = yard.commit({})
    yard.git("reset", "--quiet", "--hard", base)
    (yard.repo / "sub").mkdir()
    for name in ("sub/fast.so", "own.so"):
        (yard.repo / name).write_text("old\n")
    async with yard.hands(SandboxGrant(share=("*.so",))) as hands:
        workspace = await hands.open_workspace(head, Purpose("test"))
        seen = await ran(workspace, "cat own.so; ls -l sub")
    assert seen.output.startswith("of the tree\n")
    assert list((tmp_path / "outside").iterdir()) == []


async def test_a_shared_environment_may_be_written_to_where_the_configuration_says_so(yard: Yard) -> None:
    site = yard.repo / ".venv" / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    (site / "easy.pth").write_text("old\n")
    write = f"echo new > {site}/easy.pth && echo new > {site}/more.pth && cat {site}/*.pth"
    head = yard.git("rev-parse", "HEAD")
    async with yard.hands() as hands:
        refused = await ran(await hands.open_workspace(head, Purpose("test")), write)
        assert "Read-only file system" in refused.output
    async with yard.hands(SandboxGrant(writable=(".venv",))) as hands:
        written = await ran(await hands.open_workspace(head, Purpose("test")), write)
        assert written.output == "new\nnew\n"
        other = await ran(await hands.open_workspace(head, Purpose("test")), f"cat {site}/*.pth")
        assert other.output == "old\n"
    assert [path.read_text() for path in site.iterdir()] == ["old\n"]


@pytest.mark.parametrize(
    ("changed", "is_given"),
    [
        ({"pkg/other.py": "1\n"}, True),
        ({"src/fast.c": "1\n"}, False),
        ({"pkg/fast.py": "1\n"}, False),
        ({"setup.py": "1\n"}, False),
    ],
)  # fmt: skip
async def test_a_shared_output_is_not_given_to_a_tree_that_changes_what_it_may_be_built_from(
    yard: Yard, changed: dict[str, str], is_given: bool
) -> None:
    (yard.repo / "pkg" / "fast.cpython-312-x86_64-linux-gnu.so").write_text("old\n")
    base = yard.git("rev-parse", "HEAD")
    changing = yard.commit(changed)
    yard.git("reset", "--quiet", "--hard", base)
    async with yard.hands(SandboxGrant(share=("*.so",))) as hands:
        on_base = await ran(await hands.open_workspace(base, Purpose("test")), "cat pkg/*.so")
        assert on_base.output == "old\n"
        seen = await ran(await hands.open_workspace(changing, Purpose("test")), "cat pkg/*.so")
    assert (seen.output == "old\n") is is_given


def test_directories_of_compiled_files_and_those_called_for_builds_are_outputs_and_data_is_not(tmp_path: Path) -> None:
    for name in ("dist/app.js", "native/deep/a.o", "data/rows.csv", "lib/libfast.so.1", "lib/fast.node"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    shared = dict.fromkeys(("dist", "native", "data", "lib/fast.node"), tmp_path)
    assert find_shared_outputs(shared) == {"dist", "native", "lib/fast.node"}
    assert select_stale_outputs({"dist", "lib/fast.node"}, ["docs/fast.md"]) == {"lib/fast.node"}
    assert select_stale_outputs({"dist", "lib/fast.node"}, ["app/main.ts"]) == {"dist", "lib/fast.node"}
    assert select_stale_outputs({"dist"}, ["app/main.py"]) == frozenset()


def make_environment(place: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    if subprocess.run([place / "bin" / "python", "-c", "import setuptools"], check=False).returncode:
        pytest.skip("this Python makes environments without setuptools")


@pytest.mark.slow
async def test_setuptools_installs_the_workspace_into_a_copy_of_the_environment(yard: Yard) -> None:
    setup = "from setuptools import setup\n\nsetup(name='pkg', version='1', packages=['pkg'])\n"
    head = yard.commit({"setup.py": setup, ".gitignore": ".venv\n*.egg-info\nbuild\n"})
    make_environment(yard.repo / ".venv")
    install = "python setup.py -q develop --no-deps && cd / && python -c 'import pkg; print(pkg)'"
    async with yard.hands(SandboxGrant(writable=(".venv",))) as hands:
        done = await ran(await hands.open_workspace(head, Purpose("test")), install)
    assert done.exit_code == 0, done.output
    assert f"{yard.repo}/pkg/__init__.py" in done.output
    assert not list((yard.repo / ".venv").rglob("*.egg-link"))
    assert not (yard.repo / "pkg.egg-info").exists()
