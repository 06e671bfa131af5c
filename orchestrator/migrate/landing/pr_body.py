"""The words of a migration's pull request."""

from collections import Counter
from collections.abc import Collection, Iterable

from orchestrator.domain.event.notices import NoticeCode, is_notice_of
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import format_code_span, sanitize_markdown, to_one_line
from orchestrator.engine.pull_request.description import (
    format_cost_section,
    format_flaky_section,
    format_gate_evidence,
    format_unsafe_warning,
)
from orchestrator.migrate.recipe import Recipe, Step
from orchestrator.report.migration.burndown import build_burndown
from orchestrator.report.migration.report_markdown import (
    render_flags,
    render_invariants,
    render_progress,
    render_revisions,
)

_SHOWN = 200

_NOT_LANDED = {
    FileStatus.REJECTED: "Not landed",
    FileStatus.UNCHANGED: "Not changed by any step",
    FileStatus.NEEDS_HUMAN: "Left for a person",
    FileStatus.SKIPPED: "Left out on request",
    FileStatus.REVERTED: "Rolled back",
}


def render_migration_body(state: RunState, recipe: Recipe, reason: str, shards: Collection[str] | None = None) -> str:
    """The body, as Markdown: how far it is, what landed, what did not and why, what held, the evidence, the cost.

    With `shards` it is that of a pull request that holds only these, and lists their files only.
    """
    files = list(state.files.values())
    if shards is not None:
        files = []
        for shard in state.shards.values():
            if shard.name in shards:
                for path in shard.files:
                    files.append(state.files[path])
    steps = "\n".join(_step(step) for step in recipe.step)
    burndown = build_burndown(state)
    parts = [
        format_unsafe_warning(state),
        sanitize_markdown(recipe.migration.description),
        f"Owner: {sanitize_markdown(to_one_line(recipe.migration.owner))}" if recipe.migration.owner else "",
        *(
            f"Note: {sanitize_markdown(to_one_line(one.text))}."
            for one in state.notices
            if is_notice_of(one, NoticeCode.EARLIER_RUN)
        ),
        f"{sanitize_markdown(reason)}. Every file that landed did so in a union that passed the checks below.",
        render_progress(burndown) if state.files else "",
        render_flags(burndown),
        f"### Steps\n\n{steps}",
        render_revisions(burndown),
        _files("Landed", _with(files, FileStatus.MERGED)),
        *(_reasons(title, _with(files, status)) for status, title in _NOT_LANDED.items()),
        render_invariants(recipe.dump_values().get("invariant", ())),
        format_gate_evidence(state),
        format_flaky_section(state),
        format_cost_section(state),
    ]
    return "\n\n".join(part for part in parts if part)


def _step(step: Step) -> str:
    if step.kind == "command":
        return f"- `{step.id}`: {format_code_span(step.run)} (per {step.per})"
    what = {"rewrite": f"rewrites by {step.engine}", "llm": f"a model as {step.role}", "human": "a person"}[step.kind]
    return f"- `{step.id}`: {what}{', for what had failed' if step.when == 'failed' else ''}"


def _with(files: Iterable[FileRecord], status: FileStatus) -> list[FileRecord]:
    return [file for file in files if file.status == status]


def _files(title: str, files: Iterable[FileRecord]) -> str:
    return _list(title, [format_code_span(file.path) for file in files])


def _reasons(title: str, files: list[FileRecord]) -> str:
    table = _list(
        title, [f"{format_code_span(file.path)}: {sanitize_markdown(to_one_line(file.reason))}" for file in files]
    )
    alike = []
    for sign, count in Counter(f.signature for f in files).most_common():
        if count > 1 and sign:
            alike.append((sign, count))
    groups = _list(
        f"{title}, reasons alike", [f"{count} files: {sanitize_markdown(to_one_line(sign))}" for sign, count in alike]
    )
    return "\n\n".join(part for part in (table, groups) if part)


def _list(title: str, lines: list[str]) -> str:
    if not lines:
        return ""
    shown = [f"- {line}" for line in lines[:_SHOWN]]
    more = [f"- and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n".join((f"### {title} ({len(lines)})", "", *shown, *more))
