"""pip against the package index of whoever runs the tests."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

_SMALL_PACKAGE = "iniconfig"
_LIMIT_S = 350


def run_pip_install(*words: str) -> None:
    """Run `pip install` with these words; skip the test only where not even a small package can be had.

    Raises:
        AssertionError: the index answers, and pip failed all the same.
    """
    done = _run_pip(("install", "--quiet", *words))
    if done.returncode == 0:
        return
    with tempfile.TemporaryDirectory() as place:
        if _run_pip(("download", "--quiet", "--no-deps", "--dest", place, _SMALL_PACKAGE)).returncode:
            pytest.skip(f"needs a package index: {done.stderr[-300:]}")
    raise AssertionError(done.stderr)


def _run_pip(words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pip", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT_S)


def read_pip_variables() -> dict[str, str]:
    """The variables by which pip finds the index of whoever runs the tests, also with another home."""
    found = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    for place in (".config/pip/pip.conf", ".pip/pip.conf"):
        if (own := Path.home() / place).is_file():
            found.setdefault("PIP_CONFIG_FILE", str(own))
    return found
