"""Numbers as settings have them."""

from typing import Annotated

from pydantic import Field

Positive = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]
