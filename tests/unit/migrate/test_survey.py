"""What a repository tells of itself: its test command, where things lie, who owns them."""

import json
from pathlib import Path

import pytest

from orchestrator.migrate.survey.repository_files import RepositoryFiles
from orchestrator.migrate.survey.surveyor import survey_repository

PY = ("src/shop/__init__.py", "src/shop/cart.py", "src/shop/mail.py", "tests/test_cart.py", "tests/test_mail.py")


def project(*paths: str, root: Path | None = None, **texts: str) -> RepositoryFiles:
    named = {name.replace("__", "."): text for name, text in texts.items()}
    return RepositoryFiles((*paths, *named), named, root, "main")


def command(*paths: str, **texts: str) -> tuple[str, str, str] | None:
    found = survey_repository(project(*paths, **texts)).command
    return found and (found.run, found.report, found.source_file)


PYTEST = "python3 -m pytest -q --junitxml={report} {tests}"


@pytest.mark.parametrize(
    ("texts", "run", "report", "said"),
    [
        ({"pytest__ini": "[pytest]\n"}, PYTEST, "junit", "pytest.ini"),
        ({"pyproject__toml": "[tool.pytest.ini_options]\n"}, PYTEST, "junit", "pyproject.toml"),
        ({"setup__cfg": "[tool:pytest]\n"}, PYTEST, "junit", "setup.cfg"),
        ({"tox__ini": "[testenv]\ncommands =\n    pytest {posargs}\n"}, PYTEST, "junit", "tox.ini"),
        ({"noxfile__py": 'def tests(session):\n    session.run("pytest")\n'}, PYTEST, "junit", "noxfile.py"),
        ({"Makefile": "test:\n\tpython -m pytest -x\n"}, PYTEST, "junit", "Makefile"),
        ({"setup__cfg": "[options.extras_require]\ntest =\n    pytest>=7\n"}, PYTEST, "junit", "setup.cfg"),
        (
            {"tox__ini": "[testenv]\ncommands = python -m unittest discover -s tests\n"},
            "python3 -m unittest discover -s tests -v",
            "unittest",
            "tox.ini",
        ),
        ({"manage__py": ""}, "python3 manage.py test -v 2", "unittest", "manage.py"),
        ({}, "python3 -m unittest -v", "unittest", "the names of test files"),
        ({"setup__cfg": "not an [ini file", "pyproject__toml": "= 1"}, "python3 -m unittest -v", "unittest", None),
        (
            {"tox__ini": "[testenv]\ncommands = python runtests.py\n", "runtests__py": ""},
            "python3 runtests.py -v 2",
            "unittest",
            "tox.ini",
        ),
    ],
    ids=str,
)
def test_the_command_of_a_python_project_is_what_its_files_say(
    texts: dict[str, str], run: str, report: str, said: str | None
) -> None:
    found = command(*PY, **texts)
    assert found is not None
    assert found[:2] == (run, report)
    assert said in {None, found[2]}


@pytest.mark.parametrize(
    "text",
    [
        "import pytest\n",
        "try:\n    from pytest import raises\nfinally:\n    pass\n",
        "def test_cart() -> None:\n    pass\n",
    ],
)
def test_tests_that_only_pytest_can_run_are_run_by_it_whatever_else_the_files_say(text: str) -> None:
    texts = {"tests/test_cart.py": text, "Makefile": "test:\n\tpython -m unittest\n"}
    found = survey_repository(RepositoryFiles(tuple(texts), texts)).command
    assert found is not None
    assert (found.run, found.source_file) == (PYTEST, "tests/test_cart.py")


@pytest.mark.parametrize(
    ("texts", "deps"),
    [
        ({"requirements.txt": "click\n"}, ("requirements.txt",)),
        (
            {"requirements.txt": "click\n", "requirements-dev.txt": "pytest>=8\n"},
            ("requirements.txt", "requirements-dev.txt"),
        ),
        ({"pyproject.toml": "[project]\n[dependency-groups]\nqa = ['ruff', 'pytest']\n"}, ("pyproject.toml[qa]",)),
        (
            {
                "pyproject.toml": "[project]\n[project.optional-dependencies]\ntest = ['pytest']\n",
                "requirements.txt": "",
            },
            ("pyproject.toml[test]",),
        ),
        ({"pyproject.toml": "[project]\ndynamic = ['dependencies']\n"}, ()),
        ({"poetry.lock": ""}, ()),
    ],
    ids=str,
)
def test_what_a_fresh_clone_could_install_is_found(texts: dict[str, str], deps: tuple[str, ...]) -> None:
    texts = {"tests/test_cart.py": "import pytest\n", **texts}
    assert survey_repository(RepositoryFiles(tuple(texts), texts)).deps == deps


def test_pytest_that_no_list_of_dependencies_names_is_told_of() -> None:
    texts = {"tests/test_cart.py": "import pytest\n", "requirements.txt": "pytest-cov\n"}
    assert any(
        "pytest among the dep" in line for line in survey_repository(RepositoryFiles(tuple(texts), texts)).unknown
    )


@pytest.mark.parametrize(
    ("script", "run", "report"),
    [
        ("tape test/*.js", "tape test/*.js", "tap"),
        ("eslint . && nyc tape 'test/*.js' | tap-spec", "tape 'test/*.js'", "tap"),
        ("npm run tests-only", "mocha --reporter tap", "tap"),
        ("vitest", "vitest run --reporter=junit --outputFile={report}", "junit"),
        ("node --test", "node --test --test-reporter=tap", "tap"),
        ("ava", "ava --tap", "tap"),
        ("tap test/*.js", "tap test/*.js --reporter=tap", "tap"),
        ("jest", "JEST_JUNIT_OUTPUT_FILE={report} jest --ci --reporters=jest-junit", "junit"),
        ("node test.js", "node test.js", "auto"),
        ("make check", "npm test --silent", "exit-code"),
    ],
)
def test_the_command_of_a_javascript_project_is_its_own_script_with_a_report(
    script: str, run: str, report: str
) -> None:
    package = {"scripts": {"test": script, "tests-only": "mocha"}, "devDependencies": {"jest-junit": "1"}}
    found = command("index.js", package__json=json.dumps(package))
    assert found == (run, report, "package.json")


def test_tap_of_old_is_asked_for_tap_in_its_own_way() -> None:
    package = {"scripts": {"test": "tap test/*.js"}, "devDependencies": {"tap": "~0.4.0"}}
    assert command("index.js", package__json=json.dumps(package)) == ("tap test/*.js --tap", "tap", "package.json")


def test_jest_without_a_package_for_reports_is_asked_for_each_test() -> None:
    found = command("index.js", package__json='{"scripts": {"test": "jest"}}')
    assert found == ("jest --ci --verbose", "jest", "package.json")


@pytest.mark.parametrize("script", ['echo "Error: no test specified" && exit 1', None, 3])
def test_a_package_without_tests_has_no_command(script: object) -> None:
    found = survey_repository(project("index.js", package__json=json.dumps({"scripts": {"test": script}})))
    assert found.command is None
    assert any("test command" in one for one in found.unknown)


def test_options_that_hide_tests_or_measure_coverage_are_left_out_and_said() -> None:
    text = "[pytest]\naddopts = -ra -x --maxfail=3 --cov=shop --cov-report term\ntestpaths = tests more\n"
    found = survey_repository(project(*PY, pytest__ini=text))
    assert found.command is not None
    assert found.command.run == "python3 -m pytest -q -o addopts=-ra --junitxml={report} {tests}"
    assert found.command.all == "tests more"
    assert "pytest.ini" in found.notes[0]


def test_sources_tests_and_what_others_wrote_are_told_apart() -> None:
    vendored = "src/shop/_vendor/six.py"
    found = survey_repository(project(*PY, vendored, "docs/conf.py", "setup.py", "src/shop/api_pb2.py", "app.py"))
    assert found.sources == ("/app.py", "src/**/*.py")
    assert found.tests == ("tests/**/*.py",)
    assert found.exclude == ("src/shop/_vendor/**", "*_pb2.py")


def test_a_source_and_its_test_are_a_pair_where_at_least_two_are() -> None:
    assert survey_repository(project(*PY)).pairs == (r"src/shop/([^/]+)\.py -> tests/test_\1.py",)
    assert survey_repository(project(*PY[:-1])).pairs == ()


def test_tests_beside_the_sources_are_found_by_their_names() -> None:
    assert survey_repository(project("a/cart.py", "a/cart_test.py", "a/tests.py")).tests == ("*_test.py", "tests.py")
    assert survey_repository(project("a/cart.ts", "a/cart.spec.ts")).tests == ("*.spec.ts",)


def test_owners_environments_and_manifests_are_found(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    found = survey_repository(project(*PY, ".github/CODEOWNERS", "uv.lock", root=tmp_path))
    assert (found.codeowners, found.environments, found.manifests) == (
        ".github/CODEOWNERS",
        (".venv",),
        ("uv.lock",),
    )
    assert found.unknown == ()
    assert found.command is not None
    assert found.command.run == "python3 -m unittest -v", "a clone without that environment has the same command"


def test_a_repository_that_tells_nothing_gets_nothing_made_up() -> None:
    found = survey_repository(project("README.md"))
    assert (found.language, found.command, found.sources, found.all_files) == ("", None, (), ("*",))
    assert len(found.unknown) == 3
