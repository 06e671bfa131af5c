"""The lines before a check, in a shell, with the runners themselves where Python brings them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.domain.judging.check import CheckSpec, ReportFormat
from orchestrator.judge.gate.check_command import REPORT_VARIABLE, build_check_command

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
TEST = "def test_one():\n    pass\n"


def run_check(place: Path, run: str, report: ReportFormat = ReportFormat.AUTO) -> tuple[int, str, str]:
    """Run a check's command line in `place`; return its exit code, the report and what it printed."""
    (place / "files").mkdir()
    target = place / "files" / "report.xml"
    command = build_check_command(CheckSpec(id="gate", run=run, report=report, timeout_s=60), 10_000)
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(place), REPORT_VARIABLE: str(target)}
    words = ["bash", "-c", command.line]
    ended = subprocess.run(words, cwd=place, env=env, capture_output=True, text=True, check=False, timeout=60)
    written = ""
    if target.exists():
        written = target.read_text()
    return ended.returncode, written, ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("settings", "run"),
    [
        ({}, f"{PYTEST} --junitxml=out.xml && grep -c test_one out.xml"),
        ({}, f"mkdir sub && {PYTEST} --junit-xml 'sub/out.xml' && cd sub && grep -c test_one out.xml"),
        ({}, f"name=out; {PYTEST} --junitxml=${{name}}.xml && grep -c test_one out.xml"),
        ({}, f"PYTEST_ADDOPTS=--junitxml=out.xml {PYTEST} && grep -c test_one out.xml"),
        (
            {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-q --junitxml=out.xml"\n'},
            f"{PYTEST} && grep -c test_one out.xml",
        ),
        (
            {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = [\n  "--junitxml",  "out.xml",\n]\n'},
            f"{PYTEST} && grep -c test_one out.xml",
        ),
        (
            {"pytest.ini": "[pytest]\naddopts =\n    -q\n    --junitxml=out.xml\n"},
            f"{PYTEST} && grep -c test_one out.xml",
        ),
        ({"tox.ini": "[testenv]\ncommands = pytest --junitxml=out.xml\n"}, PYTEST),
        ({}, PYTEST),
    ],
)  # fmt: skip
def test_a_report_is_there_whoever_else_asked_pytest_for_one(
    tmp_path: Path, settings: dict[str, str], run: str
) -> None:
    for name, text in {"test_one.py": TEST, **settings}.items():
        (tmp_path / name).write_text(text)
    code, report, output = run_check(tmp_path, run)
    assert code == 0, output
    assert 'name="test_one"' in report


def test_a_report_of_an_earlier_run_is_never_taken_and_the_exit_code_stays(tmp_path: Path) -> None:
    (tmp_path / "out.xml").write_text("<testsuite/>")
    assert run_check(tmp_path, "false --junitxml=out.xml")[:2] == (1, "")


def test_a_command_that_names_where_its_report_goes_gets_no_option(tmp_path: Path) -> None:
    command = build_check_command(
        CheckSpec(id="gate", run="run --to {report}", report=ReportFormat.JUNIT, timeout_s=60), 10_000
    )
    assert command.line == f'run --to "${REPORT_VARIABLE}"'


def test_go_is_asked_for_each_test_beside_what_the_user_asks_it_for(tmp_path: Path) -> None:
    assert run_check(tmp_path, "echo $GOFLAGS")[2] == "-v\n"
    (tmp_path / "files").rename(tmp_path / "before")
    assert run_check(tmp_path, "export GOFLAGS=-short; env -u GOFLAGS true; echo $GOFLAGS")[2] == "-short\n"


@pytest.mark.parametrize(
    ("script", "words", "wanted"),
    [
        ("jest/bin/jest.js", "src -t one", "--verbose src -t one"),
        (".bin/jest", "--json", "--json"),
        ("vitest/vitest.mjs", "run src", "run src --reporter=verbose"),
        ("vitest/vitest.mjs", "run --reporter=dot", "run --reporter=dot"),
        ("vitest/vitest.mjs", "bench", "bench"),
        ("other/jest-cli.js", "", "-"),
    ],
)
def test_runners_of_node_are_asked_for_each_test_where_their_command_says_nothing(
    tmp_path: Path, script: str, words: str, wanted: str
) -> None:
    if subprocess.run(["which", "node"], capture_output=True, check=False).returncode:
        pytest.skip("node is not installed (make node)")
    file = tmp_path / "node_modules" / script
    file.parent.mkdir(parents=True)
    text = "console.log(process.argv.slice(2).join(' ') + (process.env.NODE_OPTIONS || '').slice(0, 1))\n"
    if script.endswith(".mjs"):
        text = f"import process from 'process';\n{text}"
    file.write_text(text)
    assert run_check(tmp_path, f"node {file} {words}")[2] == f"{wanted}\n"


def test_a_reporter_that_the_settings_of_vitest_name_stays(tmp_path: Path) -> None:
    if subprocess.run(["which", "node"], capture_output=True, check=False).returncode:
        pytest.skip("node is not installed (make node)")
    file = tmp_path / "node_modules" / "vitest" / "vitest.mjs"
    file.parent.mkdir(parents=True)
    file.write_text("console.log(process.argv.slice(2).join(' '))\n")
    (tmp_path / "vitest.config.ts").write_text("export default { test: { reporters: ['dot'] } }\n")
    assert run_check(tmp_path, f"node {file} run")[2] == "run\n"


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("cargo test --quiet --offline -- 'a b' -q", "<test><--offline><--><a b>"),
        ("cargo +stable t -q", "<+stable><t>"),
        ("NAME=value cargo test --offline", "<test><--offline>"),
        ("cargo run -q -- test -q && cargo test -q", "<run><-q><--><test><-q><test>"),
    ],
)
def test_cargo_test_is_not_told_to_be_quiet(tmp_path: Path, run: str, words: str) -> None:
    program = tmp_path / "cargo"
    program.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    program.chmod(0o755)
    code, _, output = run_check(tmp_path, f"set -eu; PATH={tmp_path}:$PATH; {run}", ReportFormat.CARGO)
    assert (code, output) == (0, words)
