"""A change may not leave more silenced than it found, in whatever language, wherever the code was moved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.judge.changes import changed, red, told

RULE = "suppression"
CALC = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"


@pytest.mark.parametrize(
    ("path", "line", "kind"),
    [
        ("src/a.py", "import os  # noqa", "noqa"),
        ("src/a.py", "import os  # NOQA: F401", "noqa"),
        ("src/a.py", "# ruff: noqa", "noqa for a whole file"),
        ("src/a.py", "# flake8: noqa: E501", "noqa for a whole file"),
        ("src/a.py", "x = f()  # type: ignore", "type: ignore"),
        ("src/a.pyi", "x = f()  # type: ignore[arg-type]  # why", "type: ignore"),
        ("src/a.py", "x = f()  # pyright: ignore[reportAny]", "pyright: ignore"),
        ("src/a.py", "# pyright: reportMissingImports=false", "pyright: report"),
        ("src/a.py", "# mypy: ignore-errors", "mypy: ignore"),
        ("src/a.py", "x = 1  # pylint: disable=invalid-name", "pylint: disable"),
        ("src/a.py", "# pylint: skip-file", "pylint: disable"),
        ("src/a.py", "if x:  # pragma: no cover", "pragma: no cover"),
        ("src/a.py", "run(x)  # nosec B602", "nosec"),
        ("tests/test_a.py", "x = f(1)  # type: ignore[arg-type]", "type: ignore"),
        ("src/a.js", "/* eslint-disable */", "eslint disable"),
        ("src/a.tsx", "{/* eslint-disable-next-line no-undef */}", "eslint disable"),
        ("src/a.ts", "// @ts-ignore", "ts ignore"),
        ("src/a.ts", "// @ts-nocheck", "ts nocheck"),
        ("src/a.ts", "// @ts-expect-error later", "ts expect error"),
        ("src/a.js", "/* istanbul ignore next */", "coverage ignore"),
        ("src/a.mjs", "/* c8 ignore start */", "coverage ignore"),
        ("src/a.go", "x := f() //nolint:errcheck", "nolint"),
        ("src/a.go", "x := f() // #nosec G101", "nosec"),
        ("src/a.rs", "#[allow(dead_code)]", "allow"),
        ("src/lib.rs", "#![allow(warnings)]", "allow"),
        ("src/A.java", '    @SuppressWarnings("unchecked")', "Suppress"),
        ("src/A.kt", '@file:Suppress("unused")', "Suppress"),
        ("lib/a.rb", "x = 1 # rubocop:disable Lint/Useless", "rubocop: disable"),
        ("run.sh", "# shellcheck disable=SC2086", "shellcheck disable"),
        ("src/a.cpp", "int x; // NOLINT", "NOLINT"),
        ("src/A.cs", "#pragma warning disable CS0168", "warning disable"),
        ("src/a.php", "/** @phpstan-ignore-next-line */", "phpstan ignore"),
        ("src/a.swift", "// swiftlint:disable force_cast", "swiftlint: disable"),
    ],
)
def test_a_new_suppression_is_red_with_its_line_and_kind_unless_its_file_is_granted(
    path: str, line: str, kind: str
) -> None:
    file = changed(path, "\n", f"\n{line}\n")
    (reason,) = red(RULE, file)
    assert reason.startswith(f"{path}:2 silences a tool (one more `{kind}")
    assert red(RULE, file, grants=[path]) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/style.md", "Write `x = 1  # noqa` where you must.\n"),
        ("src/a.py", 'WORDS = "# noqa", "# type: ignore"\n'),
        ("src/a.py", '"""Says # noqa and # type: ignore."""\n'),
        ("src/a.py", "import re\n\nPATTERN = re.compile(r'#\\s*noqa')\n"),
        ("src/a.py", "# a comment on noqa, nosec and type: ignored things\n"),
        ("src/a.py", "# type: int\n# fmt: off\n# isort: skip_file\n"),
        ("src/a.ts", "const disabled = 'eslint';\n// eslint would not disable this\n"),
        ("tests/types.test.ts", "// @ts-expect-error a number is no name\nname(1);\n"),
        ("tests/fixtures/bad.py", "import os  # noqa\n"),
        ("src/a.rs", "// we allow(dead_code) nowhere\n"),
        ("config.yaml", "# noqa\n"),
    ],
)
def test_what_only_speaks_of_suppressions_is_none(path: str, text: str) -> None:
    assert red(RULE, changed(path, None, text)) == []


def test_a_line_that_is_edited_keeps_its_suppression() -> None:
    assert red(RULE, changed("a.py", "x = f(1)  # type: ignore\n", "x = f(2)  # type: ignore\n")) == []


def test_code_is_moved_between_files_together_with_what_it_silences() -> None:
    block = "def f():\n    return g()  # type: ignore[no-any-return]\n"
    assert red(RULE, changed("a.py", block, None), changed("pkg/b.py", None, f"class A:\n{block}")) == []
    (reason,) = red(RULE, changed("b.py", None, block), changed("c.py", "", block))
    assert reason.startswith("b.py:2, c.py:2 silences a tool (2 more")


def test_one_suppression_of_everything_takes_no_narrow_one_s_place() -> None:
    narrow, wide = "x = f()  # type: ignore[misc]\n", "x = f()  # type: ignore\n"
    (reason,) = red(RULE, changed("a.py", narrow, wide))
    assert "one more `type: ignore of everything`" in reason
    assert red(RULE, changed("a.py", wide, narrow)) == []


def test_what_goes_in_a_granted_file_makes_up_only_for_what_did_not_come_there() -> None:
    one, two = "x = 1  # noqa: A\n", "y = 2  # noqa: B\n"
    gained = changed("b.py", "", one)
    assert red(RULE, gained, changed("a.py", two, ""), grants=["a.py"]) == []
    assert len(red(RULE, gained, changed("a.py", one, two), grants=["a.py"])) == 1
    assert red(RULE, changed("b.py", one, two), changed("a.py", "", one + two), grants=["a.py"]) == []


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x00\x0c#:-"), max_size=40))
def test_a_plain_comment_is_never_a_finding(words: str) -> None:
    comment = f"# {words}\n"
    assert red(RULE, changed("a.py", CALC, comment + CALC)) == []


@given(
    st.permutations(["a = f()  # noqa\n", "b = f()  # type: ignore[x]\n", "if g():  # pragma: no cover\n    c = 1\n"])
)
def test_blocks_in_another_order_or_another_file_are_never_a_finding(blocks: list[str]) -> None:
    before, (first, *rest) = "".join(sorted(blocks)), blocks
    assert red(RULE, changed("a.py", before, "".join(blocks))) == []
    assert red(RULE, changed("a.py", before, "".join(rest)), changed("b.py", None, first)) == []


def test_python_in_a_coding_that_is_none_of_text_is_searched_line_by_line() -> None:
    assert red("suppression", changed("a.py", None, b"# coding: zlib\nx = 1  # noqa\n"))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/a.py", "import yaml  # type: ignore"),
        ("src/a.py", "from yaml import load  # type: ignore[import-untyped]"),
        ("src/__init__.py", "from .a import f  # noqa: F401"),
        ("src/__init__.py", "from .a import *  # noqa"),
    ],
)
def test_on_an_import_a_suppression_is_told_and_does_not_block(path: str, line: str) -> None:
    file = changed(path, "x = 1\n", f"x = 1\n{line}\n")
    assert red(RULE, file) == []
    assert all("on imports alone" in text for text in told(RULE, file))
    assert red(RULE, changed(path, "x = 1\n", f"x = 1\n{line}\nx = f()  # type: ignore\ny = 1  # noqa\n")) != []
