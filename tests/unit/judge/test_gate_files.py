"""Which files of a repository the commands of its gate name."""

import pytest

from orchestrator.judge.gate_files.ci_commands import iterate_ci_commands
from orchestrator.judge.gate_files.finder import GateFileFinder, fold_path, iterate_imported_names

PATHS = (
    "check.sh",
    "lib.sh",
    "Makefile",
    "mk/ci.mk",
    "conf.ini",
    "args.txt",
    "plug.py",
    "checks/__main__.py",
    "checks/rules.py",
    "scripts/run_tests.py",
    "scripts/lint.py",
    "scripts/release.sh",
    "sub/check.sh",
    "sub/data.txt",
    "ci/a.sh",
    "ci/b.sh",
    "ci.yml",
    "compose.yaml",
    "noxfile.py",
    "justfile",
    "tools/__main__.py",
    "README.md",
    "expected.txt",
    "calc.py",
    "till/cli.py",
    "till/__init__.py",
    "src/shop/app.py",
    "src/index.js",
    "index.js",
    "tests/test_calc.py",
)
RULES = "test: lint\n\tpytest\nlint:\n\t@bash ci/a.sh\nrelease:\n\tscripts/release.sh\n"
PACKAGE = '{"scripts": {"test": "npm run lint", "prelint": "sh ci/a.sh", "x": "ci/b.sh"}}'
READER = GateFileFinder(PATHS, imported={"calc", "till", "index"})


def named(command: str, reader: GateFileFinder = READER) -> list[str]:
    return sorted(reader.find_named_files(command))


def followed(path: str, text: str, *words: str) -> list[str]:
    return sorted(READER.find_followed_files(path, text.encode(), frozenset(words)))


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("bash check.sh", ["check.sh"]),
        ("./check.sh", ["check.sh"]),
        ("sh ././sub/../check.sh", ["check.sh"]),
        ("sh -ec 'set -x; . lib.sh && \"$PWD/check.sh\"'", ["check.sh", "lib.sh"]),
        ("env X=1 timeout 60 ./check.sh >log.txt 2>&1 || exit 1", ["check.sh"]),
        ("CHECK=check.sh; bash $CHECK", ["check.sh"]),
        ("cd sub && ./check.sh", ["check.sh", "sub/check.sh"]),
        ("(cd ./sub; ./data.txt)", ["sub/data.txt"]),
        ("make test", ["Makefile"]),
        ("/usr/bin/make -f mk/ci.mk test", ["Makefile", "mk/ci.mk"]),
        ("make -C sub", ["Makefile"]),
        ("nox -s tests", ["noxfile.py"]),
        ("just test", ["justfile"]),
        ("docker compose -f ci.yml run tests", ["ci.yml", "compose.yaml"]),
        ("python scripts/run_tests.py", ["scripts/run_tests.py"]),
        ("python -m checks.rules", ["checks/rules.py"]),
        ("python -m checks", ["checks/__main__.py"]),
        ("python tools", ["tools/__main__.py"]),
        ("uv run python -m pytest -c conf.ini -p plug --rootdir=sub", ["conf.ini", "plug.py"]),
        ("pytest @args.txt", ["args.txt"]),
        ("pytest --cov-config=conf.ini", ["conf.ini"]),
        ("for f in ci/*.sh; do bash $f; done", ["ci/a.sh", "ci/b.sh"]),
        ("python calc.py | diff expected.txt -", ["expected.txt"]),
        ("bash <(cat ci/a.sh)", ["ci/a.sh"]),
        ("bash CHECK.SH", ["check.sh"]),
        ("pytest -q # then check.sh", []),
        ("pytest tests", []),
        ("pytest tests/test_calc.py::test_add scripts/lint.py", []),
        ("python -m doctest README.md scripts/lint.py", []),
        ("shellcheck check.sh ci/*.sh && ruff check scripts/lint.py", []),
        ("python -m mypy --strict scripts/lint.py", []),
        ("test -f check.sh && grep -q version README.md", []),
        ("python calc.py --self-check", []),
        ("python -m till.cli", []),
        ("node src/index.js && node index.js", []),
        ("python src/shop/app.py", []),
        ("zip -r all.zip *", []),
        ("bash ../check.sh", []),
        ("echo 'unclosed", []),
        ("", []),
    ],
)
def test_a_command_names_what_it_runs_and_is_configured_by(command: str, files: list[str]) -> None:
    assert named(command) == files


@pytest.mark.parametrize(
    ("path", "text", "words", "files"),
    [
        ("check.sh", "#!/bin/sh\nset -e\n. \"$(dirname \"$0\")/lib.sh\"\npytest\n", (), ["lib.sh"]),
        ("sub/check.sh", "cat data.txt | sh\n# ./check.sh\n", (), ["sub/data.txt"]),
        ("gate", "#!/usr/bin/env bash\nif true; then ci/a.sh; fi\n", (), ["ci/a.sh"]),
        ("Makefile", RULES, ("test",), ["ci/a.sh"]),
        ("Makefile", "all:\n\t$(MAKE) more\nmore: calc.py ; ci/b.sh\n", (), ["ci/b.sh"]),
        ("Makefile", "include mk/ci.mk\nX := ./check.sh\ntest:\n\tpytest README.md\n", (), ["check.sh", "mk/ci.mk"]),
        ("package.json", PACKAGE, ("test",), ["ci/a.sh"]),
        ("package.json", "[", ("test",), []),
        ("tox.ini", "[testenv]\ndeps = -r conf.ini\ncommands =\n  pytest\n  {toxinidir}/check.sh\n", (), ["check.sh"]),
        ("scripts/run_tests.py", "run(['bash', 'ci/a.sh'])  # README.md\n", (), ["ci/a.sh"]),
        ("scripts/run_tests.py", 'print("see README.md")\nos.system("sh ci/b.sh -x")\n', (), ["ci/b.sh"]),
        ("calc.py", "open('check.sh')\n", (), []),
    ],
)  # fmt: skip
def test_a_file_that_is_named_names_others(path: str, text: str, words: tuple[str, ...], files: list[str]) -> None:
    assert followed(path, text, *words) == files


def test_a_link_stands_for_what_it_leads_to() -> None:
    reader = GateFileFinder(
        ["check.sh", "ci/check.sh", "go", ".ci/a.sh"], links={"check.sh": "ci/check.sh", "go": ".ci"}
    )
    assert named("./check.sh", reader) == ["check.sh", "ci/check.sh"]
    assert named("go/a.sh", reader) == [".ci/a.sh"]


def test_names_that_a_file_system_may_take_for_one_are_one() -> None:
    assert fold_path("Check.SH") == fold_path("check.sh") == fold_path("\uff43heck.sh")


def test_what_tests_import_is_read_by_its_first_name() -> None:
    found = iterate_imported_names(
        b"from till.cli import x\nimport calc\n  import late\nconst y = require('../lib/index.js')\n"
    )
    assert sorted(found) == ["calc", "index", "late", "till"]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("jobs:\n  a:\n    steps:\n      - uses: x\n      - run: ./check now\n", ["./check now"]),
        (
            "      - run: |\n          sh one.sh\n\n          sh two.sh\n      - uses: three.sh\n",
            ["sh one.sh", "", "sh two.sh"],
        ),
        ("test:\n  script:\n    - sh one.sh\n    - sh two.sh\n  only: [main.sh]\n", ["sh one.sh", "sh two.sh"]),
        ("script:\n- sh one.sh\n- sh two.sh\nnotify: three.sh\n", ["sh one.sh", "sh two.sh"]),
        ("on:\n  push:\n    paths: [src/a.py]\n", []),
    ],
    ids=["line", "block", "list", "flat-list", "no-command"],
)
def test_the_commands_of_ci_configuration_are_read_and_nothing_else_of_it(text: str, commands: list[str]) -> None:
    assert list(iterate_ci_commands(text)) == commands
