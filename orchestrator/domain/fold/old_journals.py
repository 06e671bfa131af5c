"""Facts that journals had as text only before events had fields for them. Nothing else decides by these texts."""

from orchestrator.domain.migration.files import FailureKind
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.text.lazy_pattern import compile_lazily

_OLD_TEXTS = (
    (NoticeCode.SIDE_EFFECTS, compile_lazily(r"step (?P<subject>\S+) also changed")),
    (NoticeCode.NO_BATCHES, compile_lazily(r"step (?P<subject>\S+) has a sandbox for each file:")),
    (NoticeCode.EARLIER_RUN, compile_lazily(r"an earlier run of this migration, (?P<subject>\S+), has landed")),
    (NoticeCode.ALL_TESTS, compile_lazily(r"check (?P<subject>\S+) runs all tests:")),
    (NoticeCode.COVERAGE_UNKNOWN, compile_lazily(r"(?P<subject>)whether tests reach what changed is not known:")),
)


def derive_notice_code(text: str) -> tuple[str, str]:
    """Return code and subject of a notice from a journal that was written before notices had them; empty if unknown."""
    for code, pattern in _OLD_TEXTS:
        if match := pattern.match(text):
            return code, match["subject"]
    return "", ""


def derive_failure(signature: str) -> FailureKind | None:
    """Return the kind of a failure from a journal that was written before failures had one, as far as it is known."""
    return FailureKind.PARSE if signature.startswith("does not parse") else None
