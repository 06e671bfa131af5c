"""Comments for people in files that wait for them: where they stand, and where there are none."""

import ast

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.migrate.models.human_step import insert_note


def test_a_note_stands_before_the_first_line_of_code() -> None:
    assert insert_note("a.py", b"#!/usr/bin/python\n# -*- coding: utf-8 -*-\nx = 1\n", "why") == (
        b"#!/usr/bin/python\n# -*- coding: utf-8 -*-\n# why\nx = 1\n"
    )
    assert insert_note("a.js", b"let x\r\n", "why") == b"// why\r\nlet x\r\n"
    assert insert_note("a.go", b"", "why") == b"// why\n"


def test_a_file_whose_comments_nobody_here_knows_has_none() -> None:
    assert insert_note("a.txt", b"x\n", "why") is None
    assert insert_note("a.json", b"{}\n", "why") is None
    assert insert_note("a.py", b"x = 1\0\n", "why") is None


@given(st.text(), st.sampled_from(["", "#!x\n", "'''doc'''\n"]))
def test_no_reason_becomes_code(reason: str, before: str) -> None:
    noted = insert_note("a.py", f"{before}x = 1\n".encode(), reason)
    assert noted is not None
    assert ast.dump(ast.parse(noted)) == ast.dump(ast.parse(f"{before}x = 1\n"))
