"""`[shard]` and `[sample]`: how the files are divided, and which of them are tried first."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.recipe.field_types import AtLeastOne, Count, Fraction
from orchestrator.domain.text.user_pattern import compile_user_pattern

ShardKey = Literal["file", "directory", "owner", "import-cluster", "command"]
PAIR_SEPARATOR = " -> "


class ShardRules(FrozenModel):
    """`[shard]`: the division of the files into pieces that land as one commit each.

    `by` is applied from left to right: each key divides what the ones before it left together. `codeowners` is the
    path of the file that names owners, or `auto`. `depth` counts directories. `max_files` and `max_lines` bound a
    shard; a piece below `min_files` joins the one before it that has the same owner. `pair` holds
    `PATTERN -> TEMPLATE`: a file whose path matches and the file that the template names are never divided. `run` is
    the command of the key `command`: it reads paths, one a line, and prints `path<TAB>shard` for each.
    """

    by: Annotated[tuple[ShardKey, ...], Field(min_length=1)] = ("owner", "directory")
    codeowners: str = "auto"
    depth: AtLeastOne = 2
    max_files: AtLeastOne = 20
    max_lines: AtLeastOne = 3_000
    min_files: AtLeastOne = 3
    pair: tuple[str, ...] = ()
    order: Literal["leaves-first", "smallest-first", "risk-first", "path"] = "path"
    stable: bool = True
    run: str = ""

    @field_validator("pair")
    @classmethod
    def _check_pairs(cls, pairs: tuple[str, ...]) -> tuple[str, ...]:
        for pair in pairs:
            pattern, arrow, template = pair.partition(PAIR_SEPARATOR)
            if not arrow or not template.strip():
                example = r"'src/(.+)\.py -> tests/\1.py'"
                raise ValueError(f"{pair!r} is no pair: write 'PATTERN -> TEMPLATE', as in {example}")
            groups = compile_user_pattern(pattern.strip()).groups
            if any(int(number) > groups for number in re.findall(r"\\(\d+)", template)):
                raise ValueError(f"{pair!r} names a group that its pattern does not have")
        return pairs

    @model_validator(mode="after")
    def _check_command(self) -> Self:
        if "command" in self.by and not self.run.strip():
            raise ValueError('by = ["command"] needs run = "…", which prints path<TAB>shard for each path it reads')
        return self


class Sample(FrozenModel):
    """`[sample]`: the files that go first. If fewer than `min_pass` of them land, the run stops before the rest.

    `pick` chooses them: `stratified` by size, directory and kind of site, `random`, or `list`, which takes `paths`.
    With `gate = "human"` a person is asked before the rest begins. `files = 0` leaves the sample out. `growth` is how
    much larger each wave of shards after it is than the one before, `first` how many shards the first of them has.
    """

    files: Count = 0
    pick: Literal["stratified", "random", "list"] = "stratified"
    paths: tuple[str, ...] = ()
    seed: int = 1
    gate: Literal["auto", "human"] = "auto"
    min_pass: Fraction = 0.8
    first: AtLeastOne = 4
    growth: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 4.0

    @model_validator(mode="after")
    def _check_list(self) -> Self:
        if self.pick == "list" and not self.paths:
            raise ValueError("pick = 'list' needs paths = […]")
        return self
