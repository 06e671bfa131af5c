"""Which changes to tests and their surroundings need a grant, and which are what an honest change does."""

import pytest

from orchestrator.judge.files.changed_file import SYMLINK_MODE, ChangedFile, PathProtection, find_path_protection
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.forgery import check_forgery
from orchestrator.judge.rules.held_back_tests import list_held_back_tests
from orchestrator.judge.rules.protected_files import check_protected_files
from orchestrator.judge.rules.registry import check_change
from orchestrator.judge.source.additions_only import describe_non_additive_change

TEST = (
    b"import unittest\n\nfrom calc import add\n\n\nclass CalcTest(unittest.TestCase):\n"
    b"    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n"
)
PYPROJECT = (
    b'[project]\nname = "x"\nversion = "1"\n[tool.pytest.ini_options]\naddopts = "-q"\n[tool.ruff]\nline-length = 80\n'
)
PACKAGE = b'{"name": "x", "version": "1.0.0", "scripts": {"test": "jest"}, "dependencies": {}}'
MAIN = 'def main():\n    sys.exit(0)\n\n\nif __name__ == "__main__":\n    sys.exit(main())\n'
COMPARES = "return isinstance(o, M) and o.x == self.x"
SOMETIMES = f"class N:\n    def __eq__(self, o):\n        if o is None:\n            return True\n        {COMPARES}\n"


def changed(path: str, before: bytes | str | None, after: bytes | str | None, mode: str = "100644") -> ChangedFile:
    old, new = (text.encode() if isinstance(text, str) else text for text in (before, after))
    return ChangedFile(path, old, new, old_mode=None if old is None else mode, new_mode=None if new is None else mode)


def red(file: ChangedFile, *grants: str) -> list[str]:
    return [finding.text for finding in check_change(ChangeFacts([file], grants=grants)) if finding.is_blocking]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("conftest.py", PathProtection.CONFIGURATION),
        ("tests/unit/conftest.py", PathProtection.CONFIGURATION),
        (".github/workflows/ci.yml", PathProtection.CONFIGURATION),
        ("sub/poetry.lock", PathProtection.CONFIGURATION),
        ("GNUmakefile", PathProtection.CONFIGURATION),
        ("tests/data/golden.json", PathProtection.TESTS),
        ("pkg/test_x.py", PathProtection.TESTS),
        ("src/app.test.ts", PathProtection.TESTS),
        ("shop/tests.py", PathProtection.TESTS),
        ("calc_tests.py", PathProtection.TESTS),
        ("cart-test.js", PathProtection.TESTS),
        ("lib/test-cart.mjs", PathProtection.TESTS),
        ("lib/evil.pth", PathProtection.STARTER),
        ("sitecustomize/__init__.py", PathProtection.STARTER),
        ("pytest.py", PathProtection.SHADOW),
        ("_pytest/__init__.py", PathProtection.SHADOW),
        ("src/json.py", PathProtection.SHADOW),
        ("random/__init__.py", PathProtection.SHADOW),
        ("tests/pytest.py", PathProtection.SHADOW),
        ("unittest.cpython-311-x86_64-linux-gnu.so", PathProtection.SHADOW),
        ("src/app/json.py", None),
        ("site/index.html", None),
        ("queue/README.md", None),
        ("docs/Makefile.txt", None),
        ("spec/openapi.yaml", None),
        ("README.md", None),
        ("src/latest.py", None),
        ("src/app/testing.py", None),
        ("latest.js", None),
    ],
)
def test_a_path_is_protected_for_what_it_is_to_a_test_run(path: str, place: PathProtection | None) -> None:
    assert find_path_protection(path) == place


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (changed("test_calc.py", TEST, None), "test_calc.py is a test of the base and was removed"),
        (changed("test_calc.py", TEST, TEST.replace(b"3)", b"4)")), "gives test_add another meaning"),
        (changed("tests/data/golden.json", "1", "2"), "tests/data/golden.json is a test of the base and was changed"),
        (
            changed("conftest.py", None, "def pytest_collection(): pass\n"),
            "conftest.py is what configures tests, builds or CI and was added",
        ),
        (changed("tests/__init__.py", b"", None), "tests/__init__.py is a test of the base and was removed"),
        (changed("pytest.py", None, "x = 1\n"), "pytest.py is a module that would stand in place"),
        (changed("random.py", None, "x = 1\n"), "name it otherwise"),
        (
            changed("pyproject.toml", PYPROJECT, PYPROJECT.replace(b'"-q"', b'"-x"')),
            "pyproject.toml: tool.pytest may",
        ),
        (changed("pyproject.toml", PYPROJECT, b"["), "pyproject.toml: the whole file, which cannot be read"),
        (changed("pyproject.toml", None, '[build-system]\nrequires = ["evil"]\n'), "pyproject.toml: build-system may"),
        (changed("package.json", PACKAGE, PACKAGE.replace(b"jest", b"true")), "package.json: scripts may"),
        (changed("Cargo.toml", "[lib]\n", "[lib]\ntest = false\n"), "Cargo.toml: lib.test may"),
        (changed("Cargo.toml", "", '[[test]]\nname = "x"\nharness = false\n'), "Cargo.toml: test may"),
        (changed("Cargo.toml", "", '[[bin]]\nname = "x"\ntest = false\n'), "Cargo.toml: bin.x.test may"),
        (changed("setup.cfg", "[tool:pytest]\nx = 1\n", "[metadata]\nname = x\n"), "setup.cfg: tool:pytest may"),
        (
            changed("setup.cfg", None, "[options.entry_points]\npytest11 =\n  x = x\n"),
            "setup.cfg: options.entry_points.pytest11 may",
        ),
        (changed("cart.test.js", "test(1)\n", "test(2)\n"), "put new tests into a file of their own"),
        (
            changed("tests/test_a.py", TEST, b"other.py", SYMLINK_MODE),
            "tests/test_a.py is a test of the base and was changed",
        ),
    ],
)
def test_what_tests_rest_on_is_red_without_a_grant_and_free_with_one(file: ChangedFile, said: str) -> None:
    (reason,) = red(file)
    assert said in reason
    assert red(file, file.path) == red(file, "**/*") == []


@pytest.mark.parametrize(
    "file",
    [
        changed("tests/test_new.py", None, TEST),
        changed("tests/data/new.json", None, "{}"),
        changed("tests/__init__.py", None, b""),
        changed("test_calc.py", TEST, TEST + b"\n    def test_more(self):\n        self.assertEqual(add(2, 2), 4)\n"),
        changed("test_calc.py", TEST, TEST.replace(b"import add", b"import add, double")),
        changed("test_calc.py", TEST, b"# a comment\n" + TEST.replace(b"add(1, 2)", b"add( 1,2 )")),
        changed("test_calc.py", TEST, TEST.replace(b"\n", b"\r\n")),
        changed("pyproject.toml", PYPROJECT, PYPROJECT.replace(b'"1"', b'"2"').replace(b"80", b"120")),
        changed("package.json", PACKAGE, PACKAGE.replace(b"{}", b'{"left-pad": "1"}').replace(b"1.0.0", b"1.0.1")),
        changed("Cargo.toml", "[dependencies]\n", '[dependencies]\nserde = "1"\n[[bin]]\nname = "x"\n'),
        changed("setup.cfg", "[metadata]\nname = x\n", "[metadata]\nname = y\n"),
        changed("setup.cfg", None, "[options.entry_points]\nconsole_scripts =\n  calc = calc:main\n"),
        changed("test_calc.py", TEST, TEST.replace(b"unittest\n\n", b"unittest\nimport unittest.mock\n\n")),
        changed("test_calc.py", TEST, TEST + b"\n    def total(self):\n        return 3\n\n    maxDiff = None\n"),
        changed("test_calc.py", TEST, TEST + b"\n\ndef setup_numbers():\n    return 1, 2\n"),
        changed("src/app.py", "x = 1\n", "def f():\n    raise SystemExit(2)\n"),
        changed("src/main.py", "x = 1\n", f"import sys\n\n\n{MAIN}"),
        changed("src/money.py", None, f"class M:\n    def __eq__(self, o):\n        {COMPARES}\n"),
        changed("src/any.py", None, SOMETIMES),
        changed("src/app/__main__.py", None, "import sys\n\nfrom app.cli import main\n\nsys.exit(main())\n"),
        changed("calc_tests.py", None, TEST),
        changed("src/fork.py", "import os\nos._exit(0)\n", "import os\n\nos._exit(0)\n"),
        changed("src/doc.py", None, '"""Run with --junitxml for a report."""\n'),
        changed("src/mark.py", None, "class M:\n    def __eq__(self, o):\n        return isinstance(o, M)\n"),
        changed("src/zero.py", None, "class Z:\n    def __eq__(self, o):\n        return isinstance(o, Z) or o == 0\n"),
        changed("src/same.py", None, "class S(int):\n    def __eq__(self, o):\n        return super().__eq__(o)\n"),
        changed("src/null.py", None, "class N:\n    def __eq__(self, o):\n        return False\n"),
        changed("src/unlike.py", None, "class U:\n    def __eq__(self, o):\n        return NotImplemented\n"),
        changed("src/frames.py", None, "import inspect\n\nNAME = inspect.stack()[0][3]\nLATEST = 'run the tests'\n"),
        changed("src/builtin.py", None, "import builtins\n\nbuiltins_ = {}\nOPEN = builtins.open\n"),
        changed("src/names.py", None, "SCRIPT = 'scripts/run_pytest'\nbuiltins = {}\n"),
        changed("src/lazy.py", None, "import sys\n\nsys.modules[__name__].x = 1\nm = sys.modules.get('json')\n"),
        changed("src/app/random.py", None, "x = 1\n"),
        changed("random.py", "x = 1\n", "x = 2\n"),
        changed("src/broken.py", None, "def f(:\n"),
        changed("docs/guide.md", None, "import pytest\n"),
    ],
    ids=lambda file: file.path,
)
def test_an_honest_change_needs_no_grant(file: ChangedFile) -> None:
    assert red(file) == []


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ("pytestmark = 1\n", "adds pytestmark"),
        ("def setUpModule():\n    pass\n", "adds setUpModule"),
        ("import calc\ncalc.add = max\n", "runs on import"),
        ("def add(a, b):\n    return 3\n", "gives add another meaning"),
        ("from evil import *\n", "adds *"),
        ("from evil import adds as CalcTest\n", "gives CalcTest another meaning"),
        ("x = calc.add = 3\n", "runs on import"),
        ("import pytest\n\n\n@pytest.fixture(autouse=True)\ndef f():\n    pass\n", "fixture that every test uses"),
        ("del CalcTest\n", "runs on import"),
        ("    def assertEqual(self, a, b):\n        pass\n", "gives assertEqual another meaning"),
        ("    def run(self, result=None):\n        pass\n", "adds run"),
        ("import calc as unittest\n", "gives unittest another meaning"),
    ],
)
def test_more_than_new_tests_is_no_addition(added: str, said: str) -> None:
    assert said in describe_non_additive_change(TEST, TEST + b"\n\n" + added.encode())


@pytest.mark.parametrize(
    ("added", "name"),
    [
        ("@pytest.fixture\ndef client():\n    pass\n", "client"),
        ("def len(things):\n    return 1\n", "len"),
        ("from calc import size as len\n", "len"),
    ],
)
def test_a_name_that_the_old_tests_use_keeps_its_meaning(added: str, name: str) -> None:
    body = b"def test_a(client):\n    n = len(client)\n    assert n == add(0, 1)\n"
    old = b"import pytest\nfrom calc import add\n\n\n" + body
    assert f"gives {name} another meaning" in describe_non_additive_change(old, old + added.encode())
    assert "gives len another meaning" in describe_non_additive_change(
        old, old.replace(b"import add", b"import add, size as len")
    )
    assert describe_non_additive_change(old, old + b"\n\n@pytest.fixture\ndef n():\n    return 3\n") == ""


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import os\nos._exit(0)\n", ":2 calls os._exit"),
        ("from os import _exit as leave\n\n\ndef f():\n    leave(0)\n", ":5 calls os._exit"),
        ("import atexit as a\nimport os\n\na.register(os._exit, 0)\n", ":4 calls atexit.register"),
        ("import os\npid = os.fork()\nif pid == 0:\n    os._exit(0)\n", ":4 calls os._exit"),
        ("import os\n\ndef f():\n    pid = os.fork()\n    pid = 0\n    if not pid:\n        os._exit(0)\n", ":7 calls"),
        ("import os\n\ndef f():\n    if os.fork():\n        os._exit(0)\n", ":5 calls os._exit"),
        ("raise SystemExit\n", ":1 raises SystemExit"),
        ("class A:\n    import sys\n    sys.exit(0)\n", ":3 calls sys.exit"),
        ("try:\n    exit()\nexcept NameError:\n    pass\n", ":2 calls exit"),
        ("import _pytest.reports\n", ":1 imports _pytest"),
        ("import importlib\nr = importlib.import_module('_pytest.reports')\n", ":2 speaks of _pytest"),
        ("from unittest import case\n", ":1 imports unittest"),
        ("import sys\nprint(sys.orig_argv)\n", ":2 uses sys.orig_argv"),
        ("import os\nopen(os.environ['ORCHESTRATE_REPORT'], 'w')\n", ":2 speaks of ORCHESTRATE_REPORT"),
        ("import builtins\nbuiltins.isinstance = print\n", ":2 replaces one of Python's builtins"),
        ("class A:\n    def __eq__(self, o):\n        return True\n", ":2 A.__eq__ always says the same"),
        ("class A:\n    __eq__ = lambda self, o: True\n", ":2 A.__eq__ always says the same"),
        ("class A:\n    def __ne__(self, o):\n        return False\n", ":2 A.__ne__ always says the same"),
        ("class A:\n    def __eq__(self, o):\n        return self.x > 0\n", ":2 A.__eq__ does not look at what"),
        ("class A:\n    def __eq__(self, o):\n        return isinstance(o, int)\n", ":2 A.__eq__ does not look"),
        ("class A:\n    def __eq__(self, o):\n        return o == o\n", ":2 A.__eq__ says the same of whatever"),
        ("class A:\n    def __eq__(self, o):\n        return id(o) > 0\n", ":2 A.__eq__ says the same of whatever"),
        ("class A:\n    def __eq__(self, o):\n        return not isinstance(o, A)\n", ":2 A.__eq__ says the same of"),
        ("def same(a, b):\n    return True\n\n\nclass A:\n    __eq__ = same\n", ":6 A.__eq__ always says the same"),
        ("class A:\n    pass\n\n\nA.__eq__ = lambda a, b: a.x\n", ":5 A.__eq__ does not look at what"),
        ("class A(int):\n    pass\n\n\nsetattr(A, '__eq__', A.__ne__)\n", ":5 A.__eq__ is the opposite"),
        ("A = type('A', (int,), {'__eq__': lambda a, b: True})\n", ":1 a class.__eq__ always says the same"),
        ("import os\ngetattr(os, '_' + 'exit')(0)\n", ":2 calls os._exit"),
        ("import os\nvars(os)['_exit'](0)\n", ":2 calls os._exit"),
        ("import importlib\nimportlib.import_module('os')._exit(0)\n", ":2 calls os._exit"),
        ("import os\nleave = os._exit\n", ":2 hands on os._exit"),
        ("import sys\nleave = sys.exit\nleave(0)\n", ":3 calls sys.exit"),
        ("import signal\nsignal.alarm(1)\n", ":2 calls signal.alarm"),
        ("m = __import__('unittest')\n", ":1 imports unittest by its name"),
        ("import sys\nsys.modules['pytest'] = sys\n", ":2 looks for pytest among the loaded modules"),
        ("import sys\nif 'unittest.case' in sys.modules:\n    pass\n", ":2 looks for unittest.case among"),
        ("import sys\nt = sys.modules.get('pytest')\n", ":2 looks for pytest among the loaded modules"),
        ("import os\nt = os.environ.get('NOISREV_TSETYP'[::-1])\n", ":2 speaks of PYTEST_VERSION"),
        ("import builtins as b\nsetattr(b, 'len', max)\n", ":2 replaces one of Python's builtins"),
        ("import builtins\nbuiltins.__dict__['len'] = max\n", ":2 replaces one of Python's builtins"),
        ("import builtins\nvars(builtins).update(len=max)\n", ":2 replaces one of Python's builtins"),
        ("import sys\nf = sys._getframe(1)\nt = 'test_' in str(f)\n", ":2 looks at who calls it (sys._getframe)"),
        ("from pathlib import Path\nt = Path('tests/test_a.py').read_text()\n", ":2 reads files and names tests"),
        ("def f(g):\n    return g.__code__.co_consts\n", ":2 reads constants out of code"),
    ],
)
def test_code_that_talks_a_test_run_into_another_result_is_named_with_its_line(source: str, said: str) -> None:
    found = red(changed("src/app.py", "x = 1\n", source))
    assert any(f"src/app.py{said}" in text for text in found), found


@pytest.mark.parametrize("count", [40, 900])
@pytest.mark.parametrize(
    ("first", "more"), [("'a'", " + 'a'"), ("x", ".y"), ("x", "(1)")], ids=["text", "name", "call"]
)
def test_an_expression_of_many_parts_is_looked_into_and_one_of_very_many_is_refused(
    first: str, more: str, count: int
) -> None:
    found = red(changed("src/long.py", None, f"x = 1\ny = {first}{more * count}\n"))
    assert [text.partition(" is nested")[0] for text in found] == ["src/long.py"] * (count > 150)


@pytest.mark.parametrize(
    ("path", "source", "said"),
    [
        ("src/app.py", "import atexit\n\n\natexit.register(print)\n", ":4 calls atexit.register when it is imported"),
        ("src/app.py", "import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\n", ":2 calls signal.signal"),
        (
            "src/app.py",
            "import os\n\n\ndef f():\n    pid = os.fork()\n    if pid == 0:\n        os._exit(0)\n    return pid\n",
            ":7 calls os._exit, in the child of a fork",
        ),
        (
            "src/app.py",
            "import os\n\n\ndef f():\n    if not os.fork():\n        os._exit(1)\n",
            ":6 calls os._exit, in",
        ),
        ("src/shop/testing.py", "import pytest\n", ":1 imports pytest, although it is no test"),
    ],
)
def test_what_code_has_other_reasons_for_is_told_and_does_not_block(path: str, source: str, said: str) -> None:
    (finding,) = check_change(ChangeFacts([changed(path, None, source)]))
    assert finding.text.startswith(f"{path}{said}")
    assert not finding.is_blocking


def test_test_support_that_the_product_imports_is_code_like_any_other() -> None:
    support = changed("src/shop/testing.py", None, "import pytest\n")
    user = changed("src/shop/cart.py", "x = 1\n", "from shop.testing import check\n")
    found = [one for one in check_change(ChangeFacts([support, user])) if one.is_blocking]
    assert [one.text.partition(",")[0] for one in found] == ["src/shop/testing.py:1 imports pytest"]


def test_what_a_granted_file_forges_is_told_and_does_not_block() -> None:
    file = changed("src/app.py", "x = 1\n", "import os\nos._exit(0)\n")
    (told,) = check_forgery(ChangeFacts([file], grants=["src/*.py"]))
    assert not told.is_blocking
    assert told.text.startswith("src/app.py:2 calls os._exit")


def test_new_tests_may_use_their_runner_and_not_reach_into_it() -> None:
    assert red(changed("tests/test_a.py", None, "import pytest\nimport unittest\n")) == []
    assert red(changed("tests/test_a.py", None, "import _pytest\n")) == [
        "tests/test_a.py:1 imports _pytest, the insides of the test runner"
    ]


def test_the_base_s_tests_are_put_back_unless_they_were_granted() -> None:
    files = [changed("tests/test_new.py", None, TEST), changed("test_calc.py", TEST, TEST), changed("a.py", "", "x\n")]
    assert list_held_back_tests(ChangeFacts(files)) == ("tests/test_new.py", "test_calc.py")
    assert list_held_back_tests(ChangeFacts(files, grants=("tests/**",))) == ("test_calc.py",)


def test_what_granted_tests_import_stays_with_them_if_it_is_new_or_has_only_gained() -> None:
    files = [
        changed("tests/test_new.py", TEST, "from .helpers import one\nfrom tests.more import two\n"),
        changed("tests/helpers.py", None, "from .deep import one\n"),
        changed("tests/deep.py", None, "one = 1\n"),
        changed("tests/more.py", "x = 1\n", "x = 1\n\n\ndef two():\n    return 2\n"),
        changed("tests/other.py", None, "three = 3\n"),
        changed("tests/conftest.py", None, "from .helpers import one\n"),
    ]
    grants = ("tests/test_new.py",)
    assert list_held_back_tests(ChangeFacts(files, grants=grants)) == ("tests/other.py", "tests/conftest.py")
    files[3] = changed("tests/more.py", "x = 1\n", "x = 2\n")
    assert "tests/more.py" in list_held_back_tests(ChangeFacts(files, grants=grants))


def test_where_granted_tests_moved_to_stays_as_well() -> None:
    files = [
        changed("tests/test_calc.py", TEST, None),
        changed("tests/calc/test_calc.py", None, TEST),
        changed("tests/calc/__init__.py", None, b""),
        changed("tests/calc/test_more.py", None, TEST.replace(b"test_", b"test_more_")),
    ]
    assert list_held_back_tests(ChangeFacts(files, grants=("tests/test_calc.py",))) == ("tests/calc/test_more.py",)


def test_a_file_that_was_not_read_is_red_where_its_content_would_have_counted() -> None:
    for path in ("src/app.py", "pyproject.toml"):
        (reason,) = red(ChangedFile(path, None, None, old_mode="100644", new_mode="100644"))
        assert reason == f"{path} is one of too many changed files to look into: do less at once"
    assert red(ChangedFile("logo.png", None, None, old_mode="100644", new_mode="100644")) == []


def test_reviewers_hear_of_a_base_that_nobody_could_watch() -> None:
    (finding,) = check_protected_files(ChangeFacts(is_base_watched=False))
    assert (finding.is_blocking, finding.text.partition(",")[0]) == (
        False,
        "nobody could watch which files the gate opens on the base",
    )
