"""The burndown's tables as rows: groups of files by owner or directory, and failures that are alike."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from orchestrator.domain.plain import one_line
from orchestrator.domain.state import RunState
from orchestrator.report.burndown import Bounds, burndown_object, signatures
from orchestrator.report.burndown_text import ASCII, USUAL, files_line, headline, people_lines
from orchestrator.report.filtering import Value
from orchestrator.report.groups import By, Group, groups
from orchestrator.report.prices import UNKNOWN, dollars

GROUP_KEYS = ("name", "files", "done", "left", "failed", "cost", "reason")
"""What groups can be filtered by."""
SIGNATURE_KEYS = ("reason", "files", "left", "step")
"""What failures that are alike can be filtered by."""
_HEAD = Bounds(points=48, groups=0, signatures=0)
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

    def fields(self) -> Mapping[str, Value]:
        """What it can be filtered by."""
        return {
            "name": self.name,
            "files": float(self.files),
            "done": float(self.done),
            "left": self.left,
            "failed": float(self.failed),
            "cost": None if self.price in {"", UNKNOWN} else float(self.price.strip("$+").replace(",", "")),
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

    def fields(self) -> Mapping[str, Value]:
        """What it can be filtered by."""
        return {
            "reason": self.signature,
            "files": float(self.files),
            "left": self.left,
            "step": " ".join(self.steps),
        }


def group_rows(state: RunState, by: By) -> list[GroupRow]:
    """Groups, those with most left first."""
    return [_group(group) for group in groups(state, by)]


def _group(group: Group) -> GroupRow:
    reason = group.reasons.most_common(1)[0][0] if group.reasons else ""
    return GroupRow(
        name=group.name,
        files=group.files,
        done=group.done,
        left=group.left,
        failed=group.rejected,
        prs=group.prs,
        seconds=median(group.seconds) if group.seconds else None,
        price=_price(group),
        reason=one_line(reason, _CHARS),
    )


def _price(group: Group) -> str:
    """Empty where no model was asked, as far as is known."""
    if group.unpriced:
        return f"{dollars(group.usd)}+" if group.usd else UNKNOWN
    return dollars(group.usd) if group.usd else ""


def signature_rows(state: RunState) -> list[SignatureRow]:
    """Failures that are alike, those of most files first."""
    return [
        SignatureRow(row["signature"], row["files"], row["sites"], tuple(row["steps"]), tuple(row["examples"]))
        for row in signatures(state)
    ]


def headlines(state: RunState, *, is_ascii: bool = False) -> Iterator[str]:
    """How far it is, when it will be through, what it cost, and what waits for a person."""
    told = burndown_object(state, _HEAD)
    yield headline(told, ASCII if is_ascii else USUAL)
    yield files_line(told).strip()
    yield from (line.strip() for line in people_lines(told))
