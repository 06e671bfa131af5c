"""Notices by code: which of them are the same, and which tell of what."""

from enum import StrEnum

from orchestrator.domain.event.run import Noticed


class NoticeCode(StrEnum):
    """The code of a notice that programs look for, or that is given only once."""

    OUTPUTS_WITHHELD = "outputs-withheld"
    """Compiled files of the checkout are not shared with workspaces."""
    EARLIER_RUN = "earlier-run"
    """An earlier run of a migration has landed files that the base does not have; `subject` is that run."""
    CONTRACT_DIFFERS = "contract-differs"
    """The project's file asks for other criteria than the run has; `paths` are their ids."""
    CANARIES_OFF = "canaries-off"
    """No canaries run; `subject` says what keeps them from it."""
    NO_TESTS_OF_BASE = "no-tests-of-base"
    """The check `subject` runs no test of the base in the new environment."""
    NO_TEST_SELECTION = "no-test-selection"
    """The check `subject` runs all tests, because none is known for the files `paths`, or its command failed."""
    COVERAGE_UNKNOWN = "coverage-unknown"
    """Nobody knows whether tests reach what changed."""
    STEP_SIDE_EFFECTS = "step-side-effects"
    """The step `subject` changed the files `paths` beside those it was given."""
    STEP_NOT_BATCHED = "step-not-batched"
    """The step `subject` has a sandbox for each file."""
    PULL_REQUEST_DENIED = "pull-request-denied"
    """A person did not let the pull request for the commit `subject` be opened."""
    MERGE_DENIED = "merge-denied"
    """A person did not let the pull request for the commit `subject` be merged."""
    MERGE_UNCHECKED = "merge-unchecked"
    """No checks are known of the commit `subject`, so its pull request was not merged."""
    MERGE_NOT_GREEN = "merge-not-green"
    """The checks `paths` of the commit `subject` did not pass, so its pull request was not merged."""


_OLD_BEGINNINGS = {
    NoticeCode.EARLIER_RUN: "an earlier run of this migration,",
    NoticeCode.STEP_SIDE_EFFECTS: "step {subject} also changed",
    NoticeCode.STEP_NOT_BATCHED: "step {subject} has a sandbox for each file:",
}


def is_notice_of(notice: Noticed, code: NoticeCode, subject: str = "") -> bool:
    """Return True if the notice has this code, and is about `subject` where one is given.

    OLD JOURNALS: notices without a code are told by how their text begins. Nothing else reads it.
    """
    if notice.code:
        return notice.code == code and subject in {"", notice.subject}
    beginning = _OLD_BEGINNINGS.get(code)
    return beginning is not None and notice.text.startswith(beginning.format(subject=subject))


def is_same_notice(notice: Noticed, other: Noticed) -> bool:
    """Return True if both tell the same, in whatever words.

    OLD JOURNALS: a notice without a code is the same as another one of the same text.
    """
    if not notice.code or not other.code:
        return notice.text == other.text
    return (notice.code, notice.subject, notice.paths) == (other.code, other.subject, other.paths)
