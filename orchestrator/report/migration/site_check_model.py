"""The read models of `migrate check`: `orchestrate.ratchet/1`."""

from typing import Literal

from orchestrator.report.read_model import Document, ReadModel


class SiteLimit(ReadModel):
    """A kind of site: how many were found, and how many are allowed, None without a limit of its own."""

    site: str
    pattern: str
    found: int
    allowed: int | None


class CheckedSite(ReadModel):
    """A site; `is_over` tells that there are too many of its kind, or of all.

    `news` tells what the earlier commit did not have: `came back` in a file that had none of this kind, else `new`.
    """

    path: str
    line: int
    column: int
    site: str
    text: str
    news: Literal["", "new", "came back"]
    is_over: bool


class SiteCheckReport(Document, schema="orchestrate.ratchet/1"):
    """The verdict on one commit; `since` is the earlier one it was compared with, or empty."""

    migration: str
    commit: str
    since: str
    files: int
    found: int
    allowed: int
    holds: bool
    exit: int
    limits: tuple[SiteLimit, ...]
    sites: tuple[CheckedSite, ...]
    skipped: tuple[str, ...]
