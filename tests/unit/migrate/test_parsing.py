"""Whether a file still parses after a step."""

import pytest

from orchestrator.migrate.steps.parse_check import find_parse_error


@pytest.mark.parametrize(
    ("path", "before", "after", "said"),
    [
        ("a.py", b"x = 1\n", b"x = 2\n", ""),
        ("a.py", b"x = 1\n", b"def f(self):\n", "line 1"),
        ("a.py", b"print 'two'\n", b"print 'too'\n", ""),
        ("a.py", b"x = 1\n", b"x = '\x00'\n", "null bytes"),
        ("a.py", b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", b"# -*- coding: latin-1 -*-\ny = '\xe9'\n", ""),
        ("a.py", b"x = 1\n", b"x = '\xe9'\n", "utf-8"),
        ("a.py", b"x = 1\n", b"(" * 5_000 + b")" * 5_000, "too many nested parentheses"),
        ("a.json", b"{}", b"{,}", "line 1"),
        ("a.toml", b"x = 1", b"x = ", "Invalid value"),
        ("a.txt", b"anything", b"\x00\xff", ""),
    ],
)
def test_what_parsed_before_must_parse_afterwards(path: str, before: bytes, after: bytes, said: str) -> None:
    error = find_parse_error(path, before, after)
    assert (said in error) if said else error == ""
