"""The status object in a few lines for a person."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.report.migration.burndown_model import Burndown
from orchestrator.report.migration.burndown_text import UNICODE_GLYPHS, BurndownGlyphs, render_burndown_lines
from orchestrator.report.run.contract import render_contract_lines
from orchestrator.report.run.summary import format_reason
from orchestrator.report.text.byte_sizes import format_size

_SHOWN = 20


def render_status_lines(status: Mapping[str, Any], glyphs: BurndownGlyphs = UNICODE_GLYPHS) -> Iterator[str]:
    """Run, branch, what it took so far, the plan tree or the files by state, and what was rejected."""
    if status["is_live"]:
        life = "live"
    else:
        life = "no process"
    yield f"{status['run']}  {status['outcome']} ({life})  {_plain(status['goal'].splitlines()[0])}"
    if status["reason"]:
        yield f"  {_plain(status['reason'])}"
    head = (status["head"] or "")[:12] or "nothing landed"
    yield f"  branch {status['pr_branch']}  base {status['base'][:12]}  head {head}"
    yield _spent(status)
    yield from _budget(status["budget"])
    for line in render_contract_lines(status.get("contract", ())):
        yield f"  {line}"
    for task in status["plan"]:
        yield _task(task)
    yield from _pull_request(status)
    if "burndown" in status:
        first, *rest = render_burndown_lines(Burndown.model_validate(status["burndown"]), glyphs)
        yield f"  {first}"
        yield from rest
    yield _disk(status["disk"])
    kinds = ("rejected", "unchanged", "needs_human")
    not_landed = [file for kind in kinds for file in status["files"].get(kind, ())]
    for file in not_landed[:_SHOWN]:
        yield f"  {glyphs.cross} {_plain(file['path'])}: {format_reason(file['reason'])}"
    if len(not_landed) > _SHOWN:
        yield f"  {glyphs.more} and {len(not_landed) - _SHOWN} more: orchestrate migrate report {status['run']}"


def _pull_request(status: Mapping[str, Any]) -> Iterator[str]:
    checks = status.get("checks")
    if checks and status["pr"]:
        yield f"  pull request {_plain(status['pr']['url'])}: {_plain(checks['words'])}"
    if status.get("merged"):
        yield f"  merged; its target stands at {status['merged']['target'][:12]}"


def _spent(status: Mapping[str, Any]) -> str:
    spent = status["spent"]
    if spent["usd"] is not None:
        price = f"${spent['usd_known']:.2f}"
    else:
        price = f"${spent['usd_known']:.2f} + unknown"
    return f"  {status['test_runs']} test runs  {spent['calls']} model calls  {price}  {spent['wall_s']:.0f} s"


def _budget(budget: Mapping[str, Any]) -> Iterator[str]:
    """Each limit of the run with what is used of it, what is reserved or perhaps billed included."""
    used = {}
    for name in ("usd_known", "tokens", "calls"):
        used[name] = sum(budget[part][name] for part in _USED)
    told = {
        "usd": f"${used['usd_known']:.2f} of ${budget['limit'].get('usd', 0):.2f}",
        "tokens": f"{used['tokens']:,} of {budget['limit'].get('tokens', 0):,} tokens",
        "calls": f"{used['calls']:,} of {budget['limit'].get('calls', 0):,} calls",
        "wall_s": f"{budget['wall_s']:,.0f} of {budget['limit'].get('wall_s', 0):,.0f} s",
    }
    if budget["limit"]:
        yield "  budget: " + ", ".join(told[name] for name in budget["limit"])


_USED = ("spent", "at_risk", "reserved")


def _disk(disk: Mapping[str, Any]) -> str:
    kinds = ("journals", "blobs", "logs", "worktrees")
    sizes = ", ".join(f"{name} {format_size(disk[name])}" for name in kinds)
    return f"  disk, all runs: {'' if disk['is_whole'] else 'at least '}{format_size(disk['total'])} ({sizes})"


def _task(task: Mapping[str, Any]) -> str:
    indent = "  " * (task["depth"] + 1)
    if len(task["attempts"]) > 1:
        tries = f" ×{len(task['attempts'])}"
    else:
        tries = ""
    if task.get("cause"):
        cause = f"  {task['cause']}:"
    else:
        cause = " "
    if task["reason"]:
        reason = f"{cause} {format_reason(task['reason'])}"
    else:
        reason = ""
    return f"{indent}{task['status']:9} {task['id']}{tries}  {_plain(task['title'])}{reason}"


def _plain(text: str) -> str:
    return strip_controls(text).replace("\n", " ")
