"""The settings of how work of several tasks comes together on one branch."""

from typing import Annotated

from pydantic import AfterValidator, Field

from orchestrator.config.quantities import NotNegative, SecondsOrNone
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.paths.globs import is_glob


def _check_glob(text: str) -> str:
    if not is_glob(text):
        raise ValueError(f"{text!r} is no glob of files, such as package-lock.json or **/*.lock")
    return text


class RegenerateSettings(FrozenModel):
    """`[[merge.regenerate]]`: files that a command makes anew where the work of two tasks conflicts in them."""

    files: Annotated[tuple[Annotated[str, AfterValidator(_check_glob)], ...], Field(min_length=1)]
    command: Annotated[str, Field(pattern=r"\S")]


class MergeSettings(FrozenModel):
    """`[merge]`: how work of several tasks comes together on one branch."""

    union: tuple[Annotated[str, Field(pattern=r"^[^!\s\x00-\x1f][^\x00-\x1f]*$")], ...] = ()
    regenerate: tuple[RegenerateSettings, ...] = ()
    freeze_after: NotNegative = 4
    probe_s: SecondsOrNone = 30.0
