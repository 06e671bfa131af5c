"""Render the hosts of a run in lines for a person."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from orchestrator.domain.hosts.record import THIS_MACHINE, format_host_name
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.listing import add_lead, format_count, join_limited
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.hosts.model import HostEntry, HostLoad, HostsSummary

_TITLES = ("HOST", "STATE", "SLOTS", "SINCE", "LOST", "ATTEMPTS", "CHECKS", "OPEN THERE")
_SHOWN_WORK = 4
_SHOWN_HOSTS = 8
_REASON_CHARS = 100


def render_hosts_lines(summary: HostsSummary, now: datetime) -> Iterator[str]:
    """Yield the hosts as a table, this machine last, and a line with how many there are in all."""
    rows: list[tuple[str, ...]] = [_TITLES]
    rows += [_build_cells(host, now) for host in summary.hosts]
    here = summary.this_machine
    rows.append((format_host_name(THIS_MACHINE), "", "", "", "", *_build_load_cells(here)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = map(str.ljust, row, widths)
        yield "  ".join(cells).rstrip()
    yield describe_hosts(summary)


def _build_cells(host: HostEntry, now: datetime) -> tuple[str, ...]:
    since = ""
    if host.since:
        seconds = (now - datetime.fromisoformat(host.since)).total_seconds()
        since = format_short_duration(max(seconds, 0))
    *counts, opened = _build_load_cells(host)
    if not host.is_present:
        opened = to_one_line(host.reason, _REASON_CHARS)
    return host.name, host.status_text, str(host.slots), since, str(host.losses), *counts, opened


def _build_load_cells(load: HostLoad) -> tuple[str, str, str]:
    work = [to_one_line(one.describe_work()) for one in load.open]
    return str(load.attempts), str(load.checks), join_limited(work, _SHOWN_WORK)


def describe_hosts(summary: HostsSummary) -> str:
    """Return `2 hosts with 12 slots; build-2 cordoned; build-3 lost, 2 times in all`."""
    present = [host for host in summary.hosts if host.is_present]
    words = f"{format_count(len(present), 'host')} with {format_count(summary.slots, 'slot')}"
    return words + add_lead("; ", join_limited(list_remarks(summary.hosts), _SHOWN_HOSTS, "; "))


def list_remarks(hosts: Sequence[HostEntry]) -> list[str]:
    """Return what there is to say of hosts that are not simply ready, or were lost before."""
    remarks = []
    for host in hosts:
        words = [host.status_text] if host.status != "ready" else []
        if host.losses > 1 or (host.losses and host.status != "lost"):
            words.append(f"lost {format_count(host.losses, 'time')}")
        if words:
            remarks.append(f"{host.name} {', '.join(words)}")
    return remarks
