"""Which line of a tool's output is told of a file that it failed on."""

import time

import pytest

from orchestrator.judge.reports.telling_line import OutputKind, detect_output_kind, find_telling_line

NODE = """/w/c.js:3
  let x = ;
          ^

SyntaxError: Unexpected token ';'
    at wrapSafe (node:internal/modules/cjs/loader:1378:20)
    at Module._compile (node:internal/modules/cjs/loader:1428:41)

Node.js v20.20.2
"""
NODE_TYPE_ERROR = """node:internal/modules/run_main:129
    triggerUncaughtException(
    ^

TypeError [ERR_X]: \x1b[31mnot a function\x1b[0m
    at Object.<anonymous> (/w/codemod.js:1:1)

Node.js v22.1.0
"""
PYTHON = """Traceback (most recent call last):
  File "/w/tool.py", line 1, in <module>
    first()
ValueError: first

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/w/tool.py", line 9, in <module>
    main()
libcst.ParserSyntaxError: Syntax Error @ 3:4.
parser error
"""
PYTHON_LATER_MESSAGE = """Traceback (most recent call last):
  File "/w/tool.py", line 9, in <module>
    assert not rest, rest
AssertionError:

    def test_a(self):
        pass
"""
PYTHON_SYNTAX = """  File "a.py", line 1
    x =
       ^
SyntaxError: invalid syntax
sorry, 1 file failed
"""
RUFF = "a.py:1:8: F401 [*] `os` imported but unused\na.py:2:1: E999 no\nFound 2 errors.\n[*] 1 fixable\n"
RUFF_LONG = "F401 [*] `os` imported but unused\n --> a.py:1:8\n  |\n1 | import os\n\nFound 1 error.\n"
ESLINT = "\n/w/a.js\n  1:10  warning  odd  rule\n  3:5  error  'x' is not defined  no-undef\n\n✖ 2 problems (1 error)\n"
TSC = "src/a.ts(1,2): error TS2304: Cannot find name 'x'.\nFound 1 error.\n"

BLACK = "error: cannot format bad.py: Cannot parse: 1:4: def\n\nOh no! 💥 💔 💥\n1 file failed to reformat.\n"
JSCODESHIFT = (
    "Processing 1 files...\n ERR a.js Transformation error (Unexpected token (1:2))\nAll done.\n"
    "Results:\n1 errors\n0 unmodified\nTime elapsed: 0.3seconds\n"
)
SED = "sed: can't read a.txt: No such file or directory\ndone\n"
PRETTIER = "[error] a.js: SyntaxError: Unexpected token (1:4)\n[error] > 1 | x =\ndone in 3 ms\n"


@pytest.mark.parametrize(
    ("output", "kind", "line"),
    [
        (NODE, OutputKind.NODE, "SyntaxError: Unexpected token ';'"),
        (NODE_TYPE_ERROR, OutputKind.NODE, "TypeError [ERR_X]: not a function"),
        (PYTHON, OutputKind.PYTHON, "libcst.ParserSyntaxError: Syntax Error @ 3:4."),
        (BLACK, OutputKind.OTHER, "error: cannot format bad.py: Cannot parse: 1:4: def"),
        (JSCODESHIFT, OutputKind.OTHER, "ERR a.js Transformation error (Unexpected token (1:2))"),
        (SED, OutputKind.OTHER, "sed: can't read a.txt: No such file or directory"),
        (PRETTIER, OutputKind.OTHER, "[error] a.js: SyntaxError: Unexpected token (1:4)"),
        ("reading a.py\n2 errors\nbye\n", OutputKind.OTHER, "bye"),
        (PYTHON_LATER_MESSAGE, OutputKind.PYTHON, "AssertionError: def test_a(self):"),
        (PYTHON_SYNTAX, OutputKind.PYTHON, "SyntaxError: invalid syntax"),
        (RUFF, OutputKind.LINTER, "a.py:1:8: F401 [*] `os` imported but unused"),
        (RUFF_LONG, OutputKind.LINTER, "F401 [*] `os` imported but unused"),
        (ESLINT, OutputKind.LINTER, "3:5  error  'x' is not defined  no-undef"),
        (TSC, OutputKind.LINTER, "src/a.ts(1,2): error TS2304: Cannot find name 'x'."),
        ("reading\nno such rule\n\n", OutputKind.OTHER, "no such rule"),
        ("", OutputKind.OTHER, ""),
    ],
    ids=[
        *(
            "node",
            "node-coloured",
            "python",
            "black",
            "jscodeshift",
            "sed",
            "prettier",
            "sums",
            "python-later-message",
            "python-syntax",
        ),
        *("ruff", "ruff-long", "eslint", "tsc", "other", "nothing"),
    ],
)
def test_the_line_that_tells_most_is_chosen_by_the_kind_of_tool(output: str, kind: OutputKind, line: str) -> None:
    assert detect_output_kind(output) == kind
    assert find_telling_line(output) == line


def test_a_line_without_end_is_cut() -> None:
    assert len(find_telling_line("x" * 10_000)) == 300


@pytest.mark.parametrize("part", ["a:", ":", "a: ", "!:", "a:b ", "- "])
def test_a_line_of_many_parts_is_read_at_once(part: str) -> None:
    begun = time.monotonic()
    find_telling_line(part * 20_000)
    assert time.monotonic() - begun < 5
