"""Codes of the notices that programs look for again."""

from enum import StrEnum


class NoticeCode(StrEnum):
    """The topic of a notice; its `subject` is the id of the step, check or run."""

    SIDE_EFFECTS = "step-side-effects"
    NO_BATCHES = "step-no-batches"
    EARLIER_RUN = "earlier-run"
    ALL_TESTS = "all-tests"
    COVERAGE_UNKNOWN = "coverage-unknown"
