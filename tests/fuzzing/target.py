"""What the fuzzer needs of a kind of input."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

Given = list[Any]
"""An input as a list of parts that Python can print and read again. A smaller input leaves out parts."""


@dataclass(frozen=True)
class Target:
    """A kind of input.

    `make_case` draws an input and touches nothing. `run_case` takes it, in a directory of its own that holds a copy of
    the ground if `has_ground`; it raises where something is not as it may be. `wall_s` bounds a case.
    """

    name: str
    make_case: Callable[[Random], Given]
    run_case: Callable[[Given, Path], None]
    has_ground: bool = False
    wall_s: float = 20.0
