"""All attacks once more by a user without rights, where the tests are run by root: other walls hold for one."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.running.users import NOBODY, SOURCE, as_a_normal_user
from tests.security.marks import attack_tests

ONLY_ROOT = {"about starting as root", "hiding a program in a mount namespace needs root"}
"""The reason that the tests give which a normal user has to skip."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory of the other user's, in a place where he can reach it."""
    made = Path(tempfile.mkdtemp(prefix="attacks-"))
    os.chown(made, NOBODY, NOBODY)
    yield made
    shutil.rmtree(made)


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.timeout(600)
@pytest.mark.skipif(os.geteuid() != 0, reason="run by a normal user every test is this one")
def test_every_attack_has_the_same_end_for_a_normal_user(folder: Path) -> None:
    wanted = {test for tests in attack_tests(with_slow=False).values() for test in tests}
    files = sorted({test.partition("::")[0] for test in wanted})
    selection = ("-m", "attack and not slow and not extended", "--junitxml", str(folder / "report.xml"))
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--basetemp",
        str(folder / "tests"),
        *selection,
    ]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environ |= {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "examples")
    done = subprocess.run(
        [*as_a_normal_user(), *words, *files], cwd=SOURCE, env=environ, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    cases = ElementTree.parse(folder / "report.xml").getroot().findall(".//testcase")
    skipped = {case.get("name"): found.get("message") for case in cases if (found := case.find("skipped")) is not None}
    assert set(skipped.values()) <= ONLY_ROOT, skipped
    run = {case.get("name", "").partition("[")[0] for case in cases}
    assert {test.rpartition("::")[2] for test in wanted} <= run
