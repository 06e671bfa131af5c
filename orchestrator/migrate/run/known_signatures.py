"""Failures that codemods are known for, and the step that mends each; the data lies beside this module."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.step import Step, parse_step

_DATA = Path(__file__).with_suffix(".toml")


class KnownFailure(FrozenModel):
    """One kind of failure: regular expressions for the tool's command and for the signature, and its remedy."""

    tool: str
    signature: str
    why: str
    step: dict[str, Any]

    def has_remedy_for(self, recipe: Recipe, signature: str, reason: str) -> bool:
        """Return True if files of a recipe that failed so would be mended by it."""
        if not re.search(self.signature, signature) and not re.search(self.signature, reason):
            return False
        return any(step.kind == "command" and re.search(self.tool, step.run) for step in recipe.step)

    def build_remedy(self, taken: Sequence[str]) -> Step:
        """Return the step, for failed files with this signature, under an id that is not taken."""
        values = {**self.step, "id": choose_free_id(self.step["id"], taken)}
        return parse_step(values | {"when": "failed", "on_signature": self.signature})


def choose_free_id(wanted: str, taken: Sequence[str]) -> str:
    """Return `tail`, or `tail-2` and so on where that is taken."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


@cache
def load_known_failures() -> tuple[KnownFailure, ...]:
    """Return all of them, in the order in which they are to be tried."""
    tables = tomllib.loads(_DATA.read_text(encoding="utf-8"))["known"]
    return tuple(map(KnownFailure.model_validate, tables))
