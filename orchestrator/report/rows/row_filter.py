"""Filter rows of `status --filter` and of the dashboard by words and `key:value` terms, all of which must fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import UsageProblem

_TERM = compile_lazily(r'(?P<no>-?)(?:(?P<key>[a-z_]+):)?(?P<value>"[^"]*"|\S+)')
_NUMBER = compile_lazily(r"(?P<sign><=|>=|<|>|=)(?P<number>\d+(?:\.\d+)?)")
_SIGNS = {"<": float.__lt__, ">": float.__gt__, "<=": float.__le__, ">=": float.__ge__, "=": float.__eq__}
FilterValue = str | float | tuple[str, ...] | None


class FilteredByAttributes:
    """A row whose filter values are attributes: `FILTER_FIELDS` are their paths by field."""

    FILTER_FIELDS: ClassVar[Mapping[str, str]] = {}

    def get_filter_values(self) -> Mapping[str, FilterValue]:
        """Return the values that filters compare."""
        return {field: attrgetter(path)(self) for field, path in self.FILTER_FIELDS.items()}


@dataclass(frozen=True)
class FilterTerm:
    """One condition: any of `values` is in the field, or in any field if there is no key."""

    key: str
    values: tuple[str, ...]
    is_not: bool = False

    def matches_row(self, row: Mapping[str, FilterValue]) -> bool:
        """Return True if the row fulfils it."""
        fields = [row.get(self.key)] if self.key else list(row.values())
        return any(_matches_value(field, value) for field in fields for value in self.values) != self.is_not


@dataclass(frozen=True)
class RowFilter:
    """A filter as it was typed."""

    text: str = ""
    terms: tuple[FilterTerm, ...] = ()

    def matches_row(self, row: Mapping[str, FilterValue]) -> bool:
        """Return True if the row fulfils all terms."""
        return all(term.matches_row(row) for term in self.terms)


NO_FILTER = RowFilter()


def parse_filter(text: str, keys: Sequence[str]) -> RowFilter:
    """Return the filter that `state:ask,stall cost:>1 parser` says: a comma means or, a space and, a minus not.

    Args:
        text: what was typed.
        keys: the fields that can be asked for.

    Raises:
        UsageProblem: it names a field that there is none of.
    """
    terms = []
    for found in _TERM.finditer(text):
        key = found["key"] or ""
        if key and key not in keys:
            raise UsageProblem(f"no field {key!r} to filter by; there are {', '.join(keys)}")
        value = found["value"]
        values = (value[1:-1],) if value.startswith('"') else tuple(filter(None, value.split(",")))
        terms.append(FilterTerm(key, tuple(one.lower() for one in values), bool(found["no"])))
    return RowFilter(text.strip(), tuple(terms))


def _matches_value(field: FilterValue, value: str) -> bool:
    if isinstance(field, tuple):
        field = " ".join(field)
    if isinstance(field, int | float) and not isinstance(field, bool):
        asked = _NUMBER.fullmatch(value)
        if asked:
            return _SIGNS[asked["sign"]](float(field), float(asked["number"]))
        return str(field) == value
    return isinstance(field, str) and value in field.lower()
