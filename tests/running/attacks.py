"""The corpus of attacks in tests/scenarios/attacks: wrong changes that a project's own tests do not stop."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.running.changes import lay_over, project_of

CORPUS = Path(__file__).parent.parent / "scenarios" / "attacks"
KNOWN_LANDED = CORPUS / "known_landed.json"
_TRIES = 24
"""How often the gate of a change that is green by chance is run until it is."""


@dataclass(frozen=True)
class BaseProject:
    """A project that is attacked: BASE/base, a right change in BASE/solution, and how it is tested."""

    name: str
    gate: str
    report: str
    language: str
    needs: tuple[str, ...]

    @property
    def files(self) -> Path:
        """The folder of the project."""
        return CORPUS / self.name / "base"

    @property
    def solution(self) -> Path:
        """A right change, to be laid over it."""
        return CORPUS / self.name / "solution"

    def load_verifier_files(self) -> list[dict[str, str]]:
        """Return tests that were written from the task alone, as a verifier submits them.

        They lie in BASE/verifier; BASE/verifier.json says of each path how it ends on the base. Where a gate finds no
        new file of tests, there are only scripts.
        """
        files = []
        for path, outcome in self._load_claims().items():
            if not path.endswith(".sh"):
                files.append({"path": path, "text": self._read_verifier_text(path), "base": outcome})
        return files

    def load_verifier_scripts(self) -> list[dict[str, str]]:
        """Return the scripts of the same verifier."""
        scripts = []
        for path, outcome in self._load_claims().items():
            if path.endswith(".sh"):
                scripts.append({"name": path, "text": fill_in(self._read_verifier_text(path)), "base": outcome})
        return scripts

    def _load_claims(self) -> dict[str, str]:
        claims: dict[str, str] = json.loads((CORPUS / self.name / "verifier.json").read_text(encoding="utf-8"))
        return claims

    def _read_verifier_text(self, path: str) -> str:
        return (CORPUS / self.name / "verifier" / path).read_text(encoding="utf-8")

    def gate_command(self) -> str:
        """Return the gate with the places of this machine's programs."""
        return fill_in(self.gate)


@dataclass(frozen=True)
class Attack:
    """One folder: a change, and a command that tells right from wrong."""

    name: str
    document: dict[str, Any]

    @property
    def change(self) -> Path:
        """What is laid over the base."""
        return CORPUS / self.name / "change"

    @property
    def base(self) -> BaseProject:
        """The project that it attacks."""
        return load_base(self.document["base"])

    @property
    def deletes(self) -> list[str]:
        """The paths that the change removes."""
        return list(self.document["deletes"])

    @property
    def oracle(self) -> list[str]:
        """The words of the command."""
        words: list[str] = self.document["oracle"]
        return [fill_in(word) for word in words]

    def naive_gate(self) -> str:
        """Return the command of a harness that takes the gate from the tree where the attack counts on that."""
        return fill_in(self.document.get("naive_gate", self.base.gate))

    def skip_if_unsupported(self) -> None:
        """Skip where a program is missing, or the version of Python for which something was compiled."""
        for program in self.base.needs:
            if shutil.which(program) is None:
                pytest.skip(f"{program} is not installed")
        version = self.document.get("python_version")
        if version and version != f"{sys.version_info.major}.{sys.version_info.minor}":
            pytest.skip(f"compiled for Python {version}")


def load_base(name: str) -> BaseProject:
    """Read BASE/base.json."""
    document = json.loads((CORPUS / name / "base.json").read_text(encoding="utf-8"))
    return BaseProject(name, document["gate"], document["report"], document["language"], tuple(document["needs"]))


def load_attacks() -> list[Attack]:
    """Read all folders, in order."""
    found = sorted(CORPUS.glob("*/attack.json"))
    return [Attack(file.parent.name, json.loads(file.read_text(encoding="utf-8"))) for file in found]


def load_known_landed() -> dict[str, str]:
    """Read the list of attacks that land, with the reason why that is left so."""
    known: dict[str, str] = json.loads(KNOWN_LANDED.read_text(encoding="utf-8"))
    return known


def find_cargo_folder() -> str:
    """Return where cargo and rustc themselves are, not the switch before them; empty without them."""
    if shutil.which("rustup"):
        done = subprocess.run(["rustup", "which", "cargo"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return str(Path(done.stdout.strip()).parent)
    found = shutil.which("cargo")
    return str(Path(found).parent) if found else ""


def fill_in(words: str) -> str:
    """Put the places of this machine's programs into a command."""
    words = words.replace("{python}", sys.executable)
    if "{cargo}" in words:
        words = words.replace("{cargo}", find_cargo_folder())
    return words


def plain_environment(home: Path) -> dict[str, str]:
    """Return the environment of a harness without precautions; nothing of the test run around it."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run_plainly(words: Sequence[str], tree: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a tree."""
    home = tree.parent / "home"
    home.mkdir(exist_ok=True)
    return subprocess.run(
        list(words), cwd=tree, env=plain_environment(home), capture_output=True, text=True, errors="replace",
        check=False, timeout=240, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def run_naive_gate(attack: Attack, tree: Path) -> subprocess.CompletedProcess[str]:
    """Run the gate as it would be run without a judge; more than once if the attack is green by chance."""
    done = run_plainly(["sh", "-c", attack.naive_gate()], tree)
    for _ in range(_TRIES if attack.document.get("by_chance") else 0):
        if done.returncode == 0:
            break
        done = run_plainly(["sh", "-c", attack.naive_gate()], tree)
    return done


def attacked_tree(attack: Attack, place: Path) -> Path:
    """Make a repository of the base with the change in its work tree."""
    tree = project_of(attack.base.files, place / "attacked")
    lay_over(attack.change, tree, attack.deletes)
    return tree


def solved_tree(base: BaseProject, place: Path) -> Path:
    """Make a repository of the base with the right change in its work tree."""
    tree = project_of(base.files, place / "solved")
    lay_over(base.solution, tree, [])
    return tree
