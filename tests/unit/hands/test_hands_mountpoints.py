from pathlib import Path

import pytest

from orchestrator.hands.files import workspace_files


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A workspace and a checkout to borrow from."""
    root, source = tmp_path / "workspace", tmp_path / "checkout"
    for folder in (root, source / ".venv", source / "web" / "node_modules", source / "pkg"):
        folder.mkdir(parents=True)
    (source / "pkg" / "fast.so").write_text("machine code")
    return root, source


NAMES = (".venv", "pkg/fast.so", "web/node_modules")


def test_empty_places_are_made_for_what_can_be_borrowed_and_swept_again(places: tuple[Path, Path]) -> None:
    root, source = places
    wanted = dict.fromkeys(NAMES, source)
    assert workspace_files.create_mount_points(root, wanted, None) == wanted
    assert workspace_files.create_mount_points(root, wanted, None) == wanted
    assert (root / "pkg" / "fast.so").read_bytes() == b""
    workspace_files.remove_mount_points(root, NAMES)
    assert sorted(str(p.relative_to(root)) for p in root.rglob("*")) == [".venv", "pkg", "web", "web/node_modules"]


def test_what_is_gone_from_the_checkout_is_not_mounted(places: tuple[Path, Path]) -> None:
    root, source = places
    assert workspace_files.create_mount_points(root, dict.fromkeys(("gone", "web/gone.so"), source), None) == {}


def test_what_the_workspace_has_of_its_own_is_neither_covered_nor_swept(places: tuple[Path, Path]) -> None:
    root, source = places
    (root / ".venv").mkdir()
    (root / ".venv" / "own").touch()
    (root / "pkg").mkdir()
    (root / "pkg" / "fast.so").write_text("own")
    (root / "web").write_text("a file")
    assert workspace_files.create_mount_points(root, dict.fromkeys(NAMES, source), None) == {}
    workspace_files.remove_mount_points(root, NAMES)
    assert (root / "pkg" / "fast.so").read_text() == "own"


@pytest.mark.parametrize("link", ["pkg", "pkg/fast.so"])
def test_nothing_is_made_or_removed_through_a_link(places: tuple[Path, Path], tmp_path: Path, link: str) -> None:
    root, source = places
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "fast.so").touch()
    (root / "pkg").mkdir()
    if link == "pkg":
        (root / "pkg").rmdir()
    (root / link).symlink_to(victim if link == "pkg" else victim / "made")
    assert workspace_files.create_mount_points(root, {"pkg/fast.so": source}, None) == {}
    workspace_files.remove_mount_points(root, ("pkg/fast.so",))
    assert [p.name for p in victim.iterdir()] == ["fast.so"]


def test_only_directories_at_the_top_cannot_be_replaced_while_they_are_mounted(places: tuple[Path, Path]) -> None:
    _, source = places
    (source / "top.so").touch()
    fixed = {name: workspace_files.is_fixed_mount_point(name, source) for name in (*NAMES, "top.so")}
    assert fixed == {".venv": True, "pkg/fast.so": False, "web/node_modules": False, "top.so": False}
