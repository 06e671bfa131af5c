"""Facts that old journals have as text only."""

import pytest

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
