"""Which names and links may enter a tree."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.worktrees.conftest import Project
from worktrees.safety.path_rules import escape_path, find_link_objection, find_path_objection, is_legible_path


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".git",
            "a/.git",
            ".git/config",
            ".GIT",
            "a/.gIt/b",
            ".git.",
            ".git ",
            ".git . .",
            "git~1",
            "GIT~2",
            "a/git~1/b",
        ),
        *(".g\u200cit", "\ufeff.git", ".git::$INDEX_ALLOCATION", ".git:x", "a\\.git\\b"),
        *("", "/", "/etc/passwd", "..", "../x", "a/../b", "a//b", "./a", "a/", "a/."),
    ],
)
def test_paths_that_are_refused(path: str) -> None:
    assert find_path_objection(path)


@pytest.mark.parametrize(
    "path",
    [
        "a",
        ".gitignore",
        ".gitattributes",
        ".gitmodules",
        ".github/x.yml",
        "git",
        "git~",
        "x.git",
        ".git2",
        "a\\b",
        "näme",
        "…",
    ],
)
def test_paths_that_are_fine(path: str) -> None:
    assert find_path_objection(path) is None


def test_every_name_that_git_itself_refuses_is_refused(project: Project) -> None:
    blob = project.git("hash-object", "-w", "--stdin", stdin=b"x")
    guards = ("-c", "core.protectHFS=true", "-c", "core.protectNTFS=true")
    names = [".git", ".GIT", ".git ", ".git.", ".g\u200cit", "git~1", ".git:x", "a\\.git"]

    refused = {
        name
        for name in names
        if "Invalid path"
        in project.complaint(*guards, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}/x")
    }

    assert refused >= {".git", ".GIT", ".git ", "git~1", ".g\u200cit"}
    assert all(find_path_objection(f"{name}/x") for name in refused)


def test_control_characters_make_a_name_unreadable() -> None:
    assert not any(map(is_legible_path, ["\x1b[31m", "a\nb", "tab\t", "c1\x9b", "del\x7f", "nul\0"]))
    assert all(map(is_legible_path, ["a b", "näme", "日本", "caf\udce9", "-rf", "*"]))


@pytest.mark.parametrize(
    ("path", "target", "is_fine"),
    [
        ("a", "b", True),
        ("a", "b/c/d", True),
        ("d/a", "../b", True),
        ("d/e/a", "../../b", True),
        ("a", "./b", True),
        ("d/a", ".", True),
        ("d/a", "..", True),
        ("a", "..", False),
        ("a", "../b", False),
        ("d/a", "../../b", False),
        ("d/a", "./../../b", False),
        ("d/a", "x/../b", False),
        ("a", "/b", False),
        ("a", "/", False),
        ("a", ".git/hooks", False),
        ("d/a", "../.GIT", False),
        (".gitmodules", "b", False),
        (".GITMODULES", "b", False),
        ("gitmod~1", "b", False),
        ("gi7eba~1", "b", False),
        (".gitignore", "b", False),
        ("d/.GitAttributes", "b", False),
        (".mailmap", "b", False),
        (".mailmap.txt", "b", True),
        (".gitignore/a", "b", True),
    ],
)
def test_links(path: str, target: str, is_fine: bool) -> None:
    assert (find_link_objection(path, target) is None) == is_fine


PARTS = st.sampled_from(["a", "b", "..", "."])


@given(
    links=st.dictionaries(
        st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map("/".join),
        st.lists(PARTS, min_size=1, max_size=5).map("/".join),
        max_size=4,
    )
)
def test_no_chain_of_allowed_links_leads_out_of_the_tree(
    links: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("tree") / "inner" / "root"
    root.mkdir(parents=True)
    for path, target in links.items():
        place = root / path
        if find_link_objection(path, target) is None and _is_free(root, place):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)

    found = [Path(directory, name) for directory, names, files in os.walk(root) for name in (*names, *files)]

    assert all(_lands_in(place, root) for place in found)


def _is_free(root: Path, place: Path) -> bool:
    above = [parent for parent in place.parents if parent.is_relative_to(root)]
    return not place.is_symlink() and not place.exists() and not any(parent.is_symlink() for parent in above)


def _lands_in(place: Path, root: Path) -> bool:
    try:
        return place.resolve(strict=True).is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return True  # it leads nowhere, or in circles


def test_printable_escapes_what_disturbs_and_nothing_else() -> None:
    assert escape_path("a\x1b[31m\n") == "a\\x1b[31m\\n"
    assert escape_path("caf\udce9 \u202e näme 日本") == "caf\\udce9 \\u202e näme 日本"


@given(st.text())
def test_printable_is_always_printable_and_encodable(text: str) -> None:
    assert escape_path(text).isprintable()
    assert escape_path(text).encode("utf-8").decode("utf-8") == escape_path(text)
