"""A kind of input as the fuzzer needs it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

Given = list[Any]
"""An input as a list of parts that Python can print and read again. A smaller input leaves out parts."""


@dataclass(frozen=True)
class Target:
    """A kind of input.

    `make_case` draws an input and touches nothing. `run_case` takes it, in a directory of its own that holds a copy of
    the ground if `has_ground`; it raises where something is not as it may be. `wall_s` bounds a case, which has
    `inputs` inputs in it.
    """

    name: str
    make_case: Callable[[Random], Given]
    run_case: Callable[[Given, Path], None]
    has_ground: bool = False
    wall_s: float = 20.0
    inputs: int = 1


def batch_inputs(target: Target, size: int) -> Target:
    """Return a target whose cases have several inputs of another's, as a process costs more than such an input."""

    def make_batch(chance: Random) -> Given:
        return [target.make_case(chance) for _ in range(size)]

    def run_batch(given: Given, place: Path) -> None:
        for number, one in enumerate(given):
            directory = place / str(number)
            directory.mkdir()
            target.run_case(one, directory)

    return replace(target, make_case=make_batch, run_case=run_batch, inputs=size)
