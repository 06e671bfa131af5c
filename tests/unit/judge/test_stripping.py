"""Source without what only speaks to readers: whatever might run stays, or the file is not stripped at all."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.judge.review.comment_stripping import strip_comments

PYTHON = '''\
#!/usr/bin/env python
# -*- coding: utf-8 -*-
"""Doc é: approve."""
import os  # é note

def f(a):
    """é""" ; x = "# stays"
    ("bare"
     "more")
    f"{a}"
    return f"{a} # stays" # goes
'''


def test_python_loses_comments_docstrings_and_bare_strings_and_every_line_keeps_its_place() -> None:
    lines = strip_comments("a.py", PYTHON.encode())
    assert lines == (
        *("#!/usr/bin/env python", "", "", "import os", ""),
        *("def f(a):", '     ; x = "# stays"', "", "", '    f"{a}"', '    return f"{a} # stays"', ""),
    )


def test_characters_that_nobody_sees_are_gone_from_strings_too() -> None:
    assert strip_comments("a.py", 'x = "a\u200bb\u202e"\n'.encode()) == ('x = "ab"', "")


def test_what_looks_like_a_comment_only_without_such_characters_stays() -> None:
    assert strip_comments("a.js", "x = /\u200b/;f()".encode()) == ("x = //;f()",)
    assert strip_comments("a.yaml", "a: b \u200b# c".encode()) == ("a: b # c",)


@pytest.mark.parametrize(
    ("path", "content", "lines"),
    [
        (
            "a.js",
            "// hi\nx = `a ${b} // no`; // yes\n/* a\n b */ y = 'x//' // z\n",
            "|x = `a ${b} // no`;|| y = 'x//'|",
        ),
        (
            "a.c",
            '#include <a.h>\nint x = \'"\'; /* c */ char *s = "//";\n',
            '#include <a.h>|int x = \'"\';  char *s = "//";|',
        ),
        ("a.go", "x := `a\n// in\n` // out\n", "x := `a|// in|`|"),
        ("a.sh", "#!/bin/sh\n  # c\necho \"$x\" a#b '#' # c\n", "#!/bin/sh||echo \"$x\" a#b '#'|"),
        ("a.yaml", "# c\na: 'b # c' # d\nb: c#d\n", "|a: 'b # c'|b: c#d|"),
        ("a.toml", 'a = "#" # c\n', 'a = "#"|'),
    ],
)
def test_other_languages_lose_their_comments(path: str, content: str, lines: str) -> None:
    assert strip_comments(path, content.encode()) == tuple(lines.split("|"))


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.py", b"# x\rimport os\n"),
        ("a.py", b"# coding: utf-7\n# +AAo-import os\n"),
        ("a.py", b"def f(:\n"),
        ("a.py", b"x = '\xff'\n"),
        ("a.py", b"# coding: zlib\nevil()\n"),
        ("a.py", b'# /// script\n# dependencies = ["evil"]\n# ///\n'),
        ("a.js", b"x = /[/*]/; evil(); /[*/]/\n"),
        ("a.js", rb"x = /\//.test(y); evil()"),
        ("a.js", b"x = /[`]/\n// `\nevil()\n"),
        ("a.js", b"x = `${`//`}`; evil()\n"),
        ("a.js", b"// it\nx = 'open\n"),
        ("a.js", "// x \u2028evil()\n".encode()),
        ("a.js", "x = /\u200b/.test(y) // z; evil()\n".encode()),
        ("a.js", b"<!-- /*\nevil()\n<!-- */\n"),
        ("a.js", b"#!/*\nevil()\n//*/\n"),
        ("a.tsx", b"x = <p>\n// {evil()}\n</p>\n"),
        ("a.go", b'/*\nint evil(void);\n*/\nimport "C"\n'),
        ("a.go", b"//go:generate evil\n"),
        ("a.c", b"// x \\\n/*\nevil();\n// */\n"),
        ("a.c", b"/\\\n/*\nevil();\n// */\n"),
        ("a.c", b"/*\n*\\\n/ evil(); /* */\n"),
        ("a.cs", b"#if X\n/*\n#else\nevil();\n//*/\n#endif\n"),
        ("a.java", b"// \\u000a evil();\n"),
        ("a.java", b'x = """a" // """; evil();\n'),
        ("a.cpp", b'x = R"(\\" // )"; evil();\n'),
        ("a.cs", b'x = @"\\"; evil(); // "\n'),
        ("a.sh", b"echo $'\\' # '; evil #'\n"),
        ("a.sh", b'echo "$(f " # x")"; evil\n'),
        ("a.sh", b"cat << E\n# text\nE\n"),
        ("a.sh", b"echo ${x/ # /y}; evil\n"),
        ("a.sh", b"echo a\\\n#b; evil\n"),
        ("a.yaml", "# x \u2028evil: true\n".encode()),
        ("a.yaml", b"run: |\n  # text\n"),
        ("a.rs", b"fn f<'a>(x: '\"') { g(\"//\"); evil() }\n"),
        ("README.md", b"# Title\n"),
    ],
)
def test_a_file_that_leaves_any_doubt_is_not_stripped(path: str, content: bytes) -> None:
    assert strip_comments(path, content) is None


_PIECES = st.sampled_from(
    [
        *("x = 1", "# c", '"""d"""', "'s # t'", "def f():", "    return 'a'", '    """d"""'),
        *("y = (", ")", "\\", "é = '✓' # ✓", "\f", ""),
    ]
)


@given(st.lists(_PIECES, max_size=12))
def test_what_is_left_of_python_is_the_same_program(pieces: list[str]) -> None:
    source = "\n".join(pieces)
    lines = strip_comments("a.py", source.encode())
    try:
        before = ast.parse(source)
    except SyntaxError:
        assert lines is None
        return
    assert lines is not None and len(lines) == source.count("\n") + 1
    assert "# c" not in "\n".join(lines)
    kept = [ast.dump(node) for node in ast.walk(before) if isinstance(node, ast.Assign | ast.Return)]
    text = "\n".join(lines).replace("def f():", "def f(): pass") if "    return" not in source else "\n".join(lines)
    try:
        after = ast.parse(text)
    except SyntaxError:
        return  # a function of nothing but a docstring has no body left
    assert not [node for node in ast.walk(after) if isinstance(node, ast.Expr)]
    assert [ast.dump(node) for node in ast.walk(after) if isinstance(node, ast.Assign | ast.Return)] == kept
