"""The burndown object in lines for a person."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.migration.file_groups import NO_GROUP
from orchestrator.report.run.summary import format_reason

_ROWS = 10
_NAME = 32
_REASON = 60
_SPARKS = 24
_WORDS = {"transformed": "queued", "needs-human": "human"}


@dataclass(frozen=True)
class BurndownGlyphs:
    """What the lines are drawn with: the steps of a bar from none to full, what stands for left-out
    words, and the mark of what did not land.
    """

    bars: str = "▁▂▃▄▅▆▇█"
    more: str = "…"
    cross: str = "✗"


UNICODE_GLYPHS = BurndownGlyphs()
ASCII_GLYPHS = BurndownGlyphs(bars="_.:-=+*#", more="...", cross="x")


def render_burndown_lines(burndown: Mapping[str, Any], glyphs: BurndownGlyphs = UNICODE_GLYPHS) -> Iterator[str]:
    """All of it: how far it is, who and what is behind, what fails alike, what waits for a person, what comes next."""
    yield render_burndown_headline(burndown, glyphs)
    yield render_files_line(burndown)
    for place, line in enumerate(map(_revision, burndown["revisions"])):
        yield f"  revision {place + 2}: {line}"
    yield from _owners(burndown, glyphs)
    yield from render_group_table("directory", burndown["directories"], glyphs)
    yield from _steps(burndown)
    yield from _signatures(burndown, glyphs)
    for flag in burndown["flags"]:
        yield _flag(flag)
    yield from render_waiting_lines(burndown)


def render_burndown_headline(burndown: Mapping[str, Any], glyphs: BurndownGlyphs = UNICODE_GLYPHS) -> str:
    """`unittest-to-pytest  rev 3  sites 1590 -> 65  ▇▆▄▂▁`."""
    now, unit = burndown["now"], burndown["unit"]
    curve = render_sparkline([point["sites"] for point in burndown["series"]], glyphs)
    if now["target"]:
        goal = f" (target {_number(now['target'])})"
    else:
        goal = ""
    counted = f"{unit} {_number(now['found'])} -> {_number(now['remaining'])}{goal}"
    return f"{to_one_line(burndown['title'])}  rev {burndown['revision']}  {counted}  {curve}".rstrip()


def render_sparkline(values: Sequence[float], glyphs: BurndownGlyphs = UNICODE_GLYPHS, width: int = _SPARKS) -> str:
    """A curve of one line; its highest value is a full bar, zero an empty one. Empty without values."""
    top = max(values, default=0.0)
    if top <= 0:
        return ""
    shown = min(len(values), width)
    chosen = []
    for place in range(shown):
        chosen.append(values[round(place * (len(values) - 1) / max(shown - 1, 1))])
    return "".join(glyphs.bars[round(value / top * (len(glyphs.bars) - 1))] for value in chosen)


def render_files_line(burndown: Mapping[str, Any]) -> str:
    """Files by what became of them, when the rest will be through, what it cost."""
    files = burndown["now"]["files"]
    rest = []
    for name, count in files.items():
        if name not in _APART:
            rest.append(f"{count} {_WORDS.get(name, name)}")
    concerned = sum(count for name, count in files.items() if name != "nothing-to-do")
    return "  ".join(
        part
        for part in (
            f"  files {files.get('merged', 0)}/{concerned} merged",
            *rest,
            _eta(burndown["eta"]),
            _price(burndown["spent"]),
            f"{burndown['spent']['test_runs']} test runs",
        )
        if part
    )


_APART = ("merged", "nothing-to-do")


def _eta(eta: Mapping[str, Any] | None) -> str:
    if eta is None:
        return ""
    return f"ETA {format_short_duration(eta['seconds'])} ({format_short_duration(eta['low_s'])} to {format_short_duration(eta['high_s'])} of work)"


def _price(spent: Mapping[str, Any]) -> str:
    if spent["usd"] is None and not spent["usd_known"]:
        return "price unknown"
    return f"${spent['usd_known']:.2f}" + (" + unknown" if spent["usd"] is None else "")


def _revision(revision: Mapping[str, Any]) -> str:
    if revision["by"]:
        by = f" by {to_one_line(revision['by'])}"
    else:
        by = ""
    return f"recipe {revision['revision']}{by}, {revision['files']} file{'s' * (revision['files'] != 1)} done again"


def _owners(burndown: Mapping[str, Any], glyphs: BurndownGlyphs) -> Iterator[str]:
    """Nothing, where nobody owns anything."""
    if any(group["name"] != NO_GROUP for group in burndown["owners"]):
        yield from render_group_table("owner", burndown["owners"], glyphs)


def render_group_table(
    what: str, groups: Sequence[Mapping[str, Any]], glyphs: BurndownGlyphs = UNICODE_GLYPHS, rows: int = _ROWS
) -> Iterator[str]:
    """A table of groups, the first `rows` of them; nothing without a group."""
    if not groups:
        return
    width = min(max(len(what), *(len(to_one_line(group["name"])) for group in groups[:rows])), _NAME)
    yield f"  {what:{width}}  files  done     %   left  rejects  PRs  s/file      cost  top reason"
    for group in groups[:rows]:
        yield (
            f"  {_cut(group['name'], width, glyphs):{width}}  {group['files']:5}  {group['done']:4}  "
            f"{group['share'] * 100:3.0f}%  {_number(group['sites_left']):>5}  {group['rejected']:7}  "
            f"{group['prs']:3}  {format_seconds(group['p50_s']):>6}  {_money(group['usd']):>8}  "
            f"{_cut(group['top_reason'], _REASON, glyphs)}"
        ).rstrip()
    if len(groups) > rows:
        yield f"  {glyphs.more} and {len(groups) - rows} more"


def _steps(burndown: Mapping[str, Any]) -> Iterator[str]:
    told = []
    for step in burndown["rungs"]:
        if step["tried"]:
            told.append(
                f"{step['step']} {step['landed']} of {step['tried']}"
                + (f" ({step['later_try']} not at the first try)" if step["later_try"] else "")
            )
    if told:
        yield f"  landed by step: {', '.join(told)}"


def _signatures(burndown: Mapping[str, Any], glyphs: BurndownGlyphs) -> Iterator[str]:
    for row in burndown["signatures"][:_ROWS]:
        if row["files"] > len(row["examples"]):
            more = f" {glyphs.more}"
        else:
            more = ""
        paths = to_one_line(", ".join(row["examples"]), 200)
        plural = "s" * (row["files"] != 1)
        yield f"  {row['files']} file{plural} failed: {_cut(row['signature'], 120, glyphs)} ({paths}{more})"
    if len(burndown["signatures"]) > _ROWS:
        yield f"  {glyphs.more} and {len(burndown['signatures']) - _ROWS} more reasons"


def _flag(flag: Mapping[str, Any]) -> str:
    paths = to_one_line(", ".join(flag["examples"][:3]), 200)
    return f"  flagged {to_one_line(flag['flag'])}: {flag['files']} file{'s' * (flag['files'] != 1)} ({paths})"


def render_waiting_lines(burndown: Mapping[str, Any]) -> Iterator[str]:
    """What waits for a person, the pull requests, and what can be done next."""
    for one in burndown["waiting"]:
        yield f"  waits for you: {format_reason(one['title'])} ({one['item']})"
    for pr in burndown["prs"]:
        yield f"  pull request {to_one_line(pr['group'])}: {to_one_line(pr['url'])}"
    if burndown["next"]:
        yield f"  next: {burndown['next']}"


def _number(value: float) -> str:
    if value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.1f}"


def _money(usd: float) -> str:
    return f"${usd:.2f}"


def format_seconds(value: float | None) -> str:
    """Return seconds with one decimal, `-` for None."""
    if value is None:
        return NO_GROUP
    return f"{value:.1f}"


def _cut(text: str, width: int, glyphs: BurndownGlyphs) -> str:
    line = to_one_line(text)
    if len(line) <= width:
        return line
    return line[: width - len(glyphs.more)] + glyphs.more
