"""Imports in files of rules: which words are one, and that none leads out of the repository."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.project_rules.import_syntax import find_imports, has_only_imports, resolve_import


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See @docs/style.md.", ("docs/style.md",)),
        ("- @a.md\n- (@b.md) and @a.md again", ("a.md", "b.md")),
        ("@docs/my\\ notes.md", ("docs/my notes.md",)),
        ("`@code.md` and ``a ` @code.md`` but @prose.md", ("prose.md",)),
        ("```\n@code.md\n```\n@prose.md", ("prose.md",)),
        ("~~~md\n```\n@code.md\n~~~\n@prose.md", ("prose.md",)),
        ("Words:\n\n    @code.md\n\n@prose.md", ("prose.md",)),
        ("- list\n    - @nested.md", ("nested.md",)),
        ("mail ada@example.com", ()),
        ("@", ()),
        ("x" * 3_000 + " @late.md", ()),
    ],
)
def test_an_import_is_a_word_with_an_at_sign_outside_of_code(text: str, found: tuple[str, ...]) -> None:
    assert find_imports(text) == found


@pytest.mark.parametrize(
    ("file", "target", "path"),
    [
        ("CLAUDE.md", "docs/a.md", "docs/a.md"),
        ("web/CLAUDE.md", "./a.md", "web/a.md"),
        ("web/CLAUDE.md", "../AGENTS.md", "AGENTS.md"),
        ("web/CLAUDE.md", "../../etc/passwd", None),
        ("CLAUDE.md", "..", None),
        ("CLAUDE.md", "/etc/passwd", None),
        ("CLAUDE.md", "~/.ssh/id_rsa", None),
        ("CLAUDE.md", "docs/../../x.md", None),
        ("CLAUDE.md", "..\\x.md", None),
    ],
)
def test_an_import_is_relative_to_its_file_and_stays_inside(file: str, target: str, path: str | None) -> None:
    assert resolve_import(file, target) == path


_PARTS = st.lists(st.sampled_from(["..", ".", "a", "b.md", ""]), max_size=8)


@pytest.mark.attack(67)
@given(st.lists(st.sampled_from(["web", "deep"]), max_size=3), _PARTS)
def test_no_import_leads_out_of_the_repository(directory: list[str], parts: list[str]) -> None:
    found = resolve_import("/".join([*directory, "CLAUDE.md"]), "/".join(parts))
    assert found is None or not (found.startswith("/") or found.split("/")[0] == "..")


def test_a_file_that_only_imports_says_nothing_of_its_own() -> None:
    assert has_only_imports("@AGENTS.md\n\n@docs/a.md\n")
    assert not has_only_imports("@AGENTS.md\nUse tabs.")
