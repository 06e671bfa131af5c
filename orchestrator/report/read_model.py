"""The base of read models: what is printed with `--json`, and what lines, pages and tables are made from."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class ReadModel(BaseModel):
    """A frozen object with a stable JSON form. Unknown keys are ignored: another version may have written them."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        defer_build=True,
        serialize_by_alias=True,
        validate_by_alias=True,
        validate_by_name=True,
    )

    def as_object(self) -> dict[str, Any]:
        """Return the JSON object, with its keys in the order of the fields."""
        return self.model_dump(mode="json")
