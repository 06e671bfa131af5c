"""The burndown's tables as rows: groups of files by owner or directory, and failures that are alike."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.money import UNKNOWN_PRICE, format_dollars
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.migration.burndown import BurndownBounds, build_burndown, build_failure_signatures
from orchestrator.report.migration.burndown_model import GroupKind
from orchestrator.report.migration.burndown_text import (
    ASCII_GLYPHS,
    UNICODE_GLYPHS,
    render_burndown_headline,
    render_files_line,
    render_waiting_lines,
)
from orchestrator.report.migration.file_groups import FileGroup, build_file_groups
from orchestrator.report.rows.row_filter import FilterValue

GROUP_KEYS = ("name", "files", "done", "left", "failed", "cost", "reason")
"""The fields that filters of groups can name."""
SIGNATURE_KEYS = ("reason", "files", "left", "step")
"""The fields that filters of equal failures can name."""
_HEAD = BurndownBounds(points=48, groups=0, signatures=0)
_CHARS = 300


@dataclass(frozen=True)
class GroupRow:
    """Files of one owner or directory. `left` are weighted sites; `seconds` what a file took, None if none took any."""

    name: str
    files: int
    done: int
    left: float
    failed: int
    prs: int
    seconds: float | None
    price: str
    reason: str
    usd: float | None = None
    """Dollars, as far as they are known; None where no model was called."""

    def get_filter_values(self) -> Mapping[str, FilterValue]:
        """Return the values that filters compare."""
        return {
            "name": self.name,
            "files": float(self.files),
            "done": float(self.done),
            "left": self.left,
            "failed": float(self.failed),
            "cost": self.usd,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class SignatureRow:
    """Files that failed alike: `signature` is what of, `left` their weighted sites, `steps` the last that was tried."""

    signature: str
    files: int
    left: float
    steps: tuple[str, ...]
    examples: tuple[str, ...]

    def get_filter_values(self) -> Mapping[str, FilterValue]:
        """Return the values that filters compare."""
        return {
            "reason": self.signature,
            "files": float(self.files),
            "left": self.left,
            "step": " ".join(self.steps),
        }


def build_group_rows(state: RunState, by: GroupKind) -> list[GroupRow]:
    """Return groups, those with most left first."""
    return list(map(_build_group_row, build_file_groups(state, by)))


def _build_group_row(group: FileGroup) -> GroupRow:
    return GroupRow(
        name=group.name,
        files=group.files,
        done=group.done,
        left=group.left,
        failed=group.rejected,
        prs=group.prs,
        seconds=group.median_seconds,
        usd=float(group.usd) if group.usd else None,
        price=_format_price(group),
        reason=to_one_line(group.top_reason, _CHARS),
    )


def _format_price(group: FileGroup) -> str:
    """Return the price of a file; empty where no model was called, as far as is known."""
    if group.unpriced:
        if group.usd:
            return f"{format_dollars(group.usd)}+"
        return UNKNOWN_PRICE
    if group.usd:
        return format_dollars(group.usd)
    return ""


def build_signature_rows(state: RunState) -> list[SignatureRow]:
    """Return groups of equal failures, those of most files first."""
    return [
        SignatureRow(row.signature, row.files, row.sites, row.steps, row.examples)
        for row in build_failure_signatures(state)
    ]


def render_burndown_head(state: RunState, *, is_ascii: bool = False) -> Iterator[str]:
    """Yield progress, forecast and cost, and what waits for a person."""
    burndown = build_burndown(state, _HEAD)
    yield render_burndown_headline(burndown, ASCII_GLYPHS if is_ascii else UNICODE_GLYPHS)
    yield render_files_line(burndown).strip()
    for line in render_waiting_lines(burndown):
        yield line.strip()
