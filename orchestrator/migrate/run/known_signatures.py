"""Failures that codemods are known for, and the step that mends each; the data lies beside this module."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.migrate.recipe import Recipe, Step

_DATA = Path(__file__).with_suffix(".toml")


class KnownFailure(FrozenModel):
    """One kind of failure: regular expressions for the tool's command and for the signature, and its remedy."""

    tool: str
    signature: str
    why: str
    step: dict[str, Any]

    def has_remedy_for(self, recipe: Recipe, signature: str, reason: str) -> bool:
        """Whether files of a recipe that failed so would be mended by it."""
        is_used = any(re.search(self.tool, step.run) for step in recipe.step)
        return is_used and any(re.search(self.signature, text) for text in (signature, reason))

    def build_remedy(self, taken: Sequence[str]) -> Step:
        """The step, for failed files with this signature, under an id that is not taken."""
        values = {**self.step, "id": choose_free_id(self.step["id"], taken)}
        return Step.model_validate(values | {"when": "failed", "on_signature": self.signature})


def choose_free_id(wanted: str, taken: Sequence[str]) -> str:
    """`tail`, or `tail-2` and so on where that is taken."""
    numbered = (wanted if number == 1 else f"{wanted}-{number}" for number in range(1, len(taken) + 2))
    return next(name for name in numbered if name not in taken)


@cache
def load_known_failures() -> tuple[KnownFailure, ...]:
    """All of them, in the order in which they are to be tried."""
    return tuple(KnownFailure.model_validate(one) for one in tomllib.loads(_DATA.read_text(encoding="utf-8"))["known"])
