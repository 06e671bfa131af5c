"""Facts that old journals have as text only, and words that have changed since."""

import pytest

from orchestrator.config.model import ApprovalSettings
from orchestrator.domain.commands.definitions import InboxCommand, Reject
from orchestrator.domain.event import parse_event
from orchestrator.domain.event.people import ApprovalDecided
from orchestrator.domain.fold.old_journals import derive_failure, derive_notice_code
from orchestrator.domain.migration.files import FailureKind
from orchestrator.domain.run.notice_codes import NoticeCode


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("step s also changed a.py; that was left out", (NoticeCode.SIDE_EFFECTS, "s")),
        ("step s has a sandbox for each file: files that share one left something", (NoticeCode.NO_BATCHES, "s")),
        ("an earlier run of this migration, r0, has landed 1 of these files", (NoticeCode.EARLIER_RUN, "r0")),
        ("check t runs all tests: its select failed", (NoticeCode.ALL_TESTS, "t")),
        ("whether tests reach what changed is not known: no Python", (NoticeCode.COVERAGE_UNKNOWN, "")),
        ("the checkout is dirty", ("", "")),
    ],
)
def test_the_code_of_an_old_notice_is_derived_from_its_text(text: str, code: tuple[str, str]) -> None:
    assert derive_notice_code(text) == code


def test_the_kind_of_an_old_failure_is_derived_from_its_signature() -> None:
    assert derive_failure("does not parse: line N: invalid syntax") == FailureKind.PARSE
    assert derive_failure("exited N: oops") is None


def test_the_old_word_for_a_rejection_is_read_from_journals_inboxes_and_settings() -> None:
    decided = parse_event("approval.decided", 1, '{"item": "landing/a@1", "decision": "deny", "by": "ada"}')
    assert isinstance(decided, ApprovalDecided)
    assert decided.decision == "reject"
    command = '{"do": "deny", "item": "x", "reason": "no"}'
    sent = f'{{"key": "k", "at": "2026-01-01T00:00:00Z", "by": "ada", "command": {command}}}'
    assert isinstance(InboxCommand.model_validate_json(sent).command, Reject)
    assert ApprovalSettings.model_validate({"default": "deny"}).default == "reject"
