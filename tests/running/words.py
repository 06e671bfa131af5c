"""A project of one word a file, each with a test that allows some words, and recipes that change the words."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.domain.recipe.model import Recipe
from tests.running.projects import GATE, repository

SED = "sed -i s/old/new/ {files}"
_TEST = """import pathlib
import unittest


class WordsTest(unittest.TestCase):
    def test_{name}(self):
        self.assertIn(pathlib.Path("{name}.txt").read_text().strip(), {allowed})
"""


def words(root: Path, allowed: Mapping[str, Sequence[str]]) -> Path:
    """A repository with `NAME.txt`, which holds `old`, and `test_NAME.py` for each name."""
    files: dict[str, str | bytes] = {".gitignore": "__pycache__/\n"}
    for name, fine in allowed.items():
        files[f"{name}.txt"] = "old\n"
        files[f"test_{name}.py"] = _TEST.format(name=name, allowed=list(fine))
    return repository(root, files)


def recipe(*steps: dict[str, Any], **more: Any) -> Recipe:
    """A recipe over the words; its sites are `old`."""
    values = {
        "schema": 1,
        "migration": {"id": "words", "title": "No old words", "description": "Every word becomes a fine one."},
        "scope": {"include": ["*.txt"], "site": [{"id": "old", "pattern": "old"}]},
        "step": [{"id": f"step-{n}"} | step for n, step in enumerate(steps)],
        "verify": {"report": "unittest", "check": [{"id": "t", "run": GATE}]},
    }
    return Recipe.model_validate(values | more)
