"""The line of a run's hosts below the gauges: how many are joined with how many slots, then each that fits."""

from collections.abc import Mapping

from rich.cells import cell_len

from orchestrator.domain.hosts.record import HostRecord, HostStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import format_count
from orchestrator.report.hosts.model import format_host_status
from orchestrator.report.hosts.summary import close_record, list_open_work
from orchestrator.tui.widgets.styled_line import Spans
from orchestrator.tui.widgets.styled_text import Span

_GAP = "  "
_MORE_CELLS = 10
"""Cells that are kept for `+12 more`."""
_STYLES: Mapping[HostStatus, str] = {
    "lost": "fail",
    "refused": "fail",
    "draining": "warn",
    "cordoned": "warn",
    "ready": "good",
    "drained": "dim",
    "closed": "dim",
}
"""By status, those that need a look first, the style of a host."""
_ORDER = tuple(_STYLES)


def build_host_line(state: RunState, width: int, *, is_at_work: bool) -> Spans:
    """Return the hosts that fit a width, those that need a look first; nothing for a run that no host joined.

    Each has the workspaces that are open there and its slots: `build-1 3/8`.
    """
    if not state.hosts.records:
        return []
    hosts = sorted((close_record(one, is_at_work) for one in state.hosts.records.values()), key=_rank_host)
    slots = sum(host.slots * host.is_present for host in hosts)
    joined = sum(host.is_present for host in hosts)
    line: list[Span] = [(f"hosts {joined}/{len(hosts)} joined, {format_count(slots, 'slot')}", "")]
    opened = list_open_work(state)
    room = width - cell_len(line[0][0]) - _MORE_CELLS
    for number, host in enumerate(hosts):
        text = _render_host(host, len(opened.get(host.name, ())))
        room -= len(_GAP) + cell_len(text)
        if room < 0:
            return [*line, (f"{_GAP}+{len(hosts) - number} more", "dim")]
        line += [(_GAP, ""), (text, _STYLES[host.status])]
    return line


def _rank_host(host: HostRecord) -> int:
    return _ORDER.index(host.status)


def _render_host(host: HostRecord, opened: int) -> str:
    words = [host.name]
    if host.status == "lost":
        words.append("LOST")
    elif host.status != "ready":
        words.append(format_host_status(host.status))
    if host.is_present:
        words.append(f"{opened}/{host.slots}")
    if host.losses > 1 or (host.losses and host.status != "lost"):
        words.append(format_count(host.losses, "loss", "losses"))
    return " ".join(words)
