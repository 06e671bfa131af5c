"""Codes of the notices that programs look for again, or that are given only once."""

from enum import StrEnum


class NoticeCode(StrEnum):
    """The topic of a notice; its `subject` and `paths` are what it names."""

    OUTPUTS_WITHHELD = "outputs-withheld"
    """Compiled files of the checkout are not shared with workspaces."""
    EARLIER_RUN = "earlier-run"
    """An earlier run of a migration, `subject`, has landed files that the base does not have."""
    CONTRACT_DIFFERS = "contract-differs"
    """The project's file asks for other criteria than the run has; `paths` are their ids."""
    CANARIES_OFF = "canaries-off"
    """No canaries run; `subject` says what keeps them from it."""
    NO_TESTS_OF_BASE = "no-tests-of-base"
    """The check `subject` runs no test of the base in the new environment."""
    ALL_TESTS = "all-tests"
    """The check `subject` runs all tests: none is known for the files `paths`, or its command failed."""
    COVERAGE_UNKNOWN = "coverage-unknown"
    """Nobody knows whether tests reach what changed."""
    SIDE_EFFECTS = "step-side-effects"
    """The step `subject` changed the files `paths` beside those it was given."""
    NO_BATCHES = "step-no-batches"
    """The step `subject` has a sandbox for each file."""
    PULL_REQUEST_DENIED = "pull-request-denied"
    """A person did not let the pull request for the commit `subject` be opened."""
    MERGE_DENIED = "merge-denied"
    """A person did not let the pull request for the commit `subject` be merged."""
    MERGE_UNCHECKED = "merge-unchecked"
    """No checks are known of the commit `subject`, so its pull request was not merged."""
    MERGE_NOT_GREEN = "merge-not-green"
    """The checks `paths` of the commit `subject` did not pass, so its pull request was not merged."""
