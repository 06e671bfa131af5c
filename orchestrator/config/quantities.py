"""Counts and seconds as settings take them."""

from typing import Annotated

from pydantic import Field

_MAX_COUNT = 10**12
"""More than this of anything is a mistake, and of megabytes it is more than a system can be asked for."""
Positive = Annotated[int, Field(ge=1, le=_MAX_COUNT)]
NotNegative = Annotated[int, Field(ge=0, le=_MAX_COUNT)]
MAX_SECONDS = 1e9
"""More than thirty years: what is longer has no end that a clock could tell."""
Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS)]
SecondsOrNone = Annotated[float, Field(ge=0, le=MAX_SECONDS)]
