"""The result that every check of `doctor` returns."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DoctorFinding:
    """The result of one check. A problem that is only a warning keeps nothing from working."""

    name: str
    is_ok: bool
    detail: str
    is_warning: bool = False
