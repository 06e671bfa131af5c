"""The description of a migration's pull request."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.step import Step
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import limit_lines
from orchestrator.domain.text.sanitization import format_code_span, sanitize_markdown, to_one_line
from orchestrator.engine.pull_request import description
from orchestrator.report.migration import report_markdown
from orchestrator.report.migration.burndown import build_burndown
from orchestrator.report.migration.full_report import ReportedInvariant

_SHOWN = 200

_NOT_LANDED = {
    FileStatus.REJECTED: "Not landed",
    FileStatus.UNCHANGED: "Not changed by any step",
    FileStatus.NEEDS_HUMAN: "Left for a person",
    FileStatus.SKIPPED: "Left out on request",
    FileStatus.REVERTED: "Rolled back",
}


def render_migration_body(state: RunState, recipe: Recipe, reason: str, shards: Collection[str] | None = None) -> str:
    """Return the body, as Markdown: how far it is, what landed, what did not and why, what held, evidence and cost.

    With `shards` it is that of a pull request that holds only these, and lists their files only.
    """
    files = list(state.migration.files.values())
    if shards is not None:
        files = state.migration.list_files(one for one in state.migration.shards.values() if one.name in shards)
    steps = "\n".join(map(_describe_step, recipe.step))
    burndown = build_burndown(state)
    landed = [format_code_span(file.path) for file in files if file.status == FileStatus.MERGED]
    parts = [
        description.format_unsafe_warning(state),
        sanitize_markdown(recipe.migration.description),
        f"Owner: {sanitize_markdown(to_one_line(recipe.migration.owner))}" if recipe.migration.owner else "",
        *_describe_earlier_runs(state),
        f"{sanitize_markdown(reason)}. Every file that landed did so in a union that passed the checks below.",
        report_markdown.render_progress(burndown) if state.migration.files else "",
        report_markdown.render_flags(burndown),
        f"### Steps\n\n{steps}",
        report_markdown.render_revisions(burndown),
        _render_list("Landed", landed),
    ]
    for status, title in _NOT_LANDED.items():
        parts += _render_not_landed(title, files, status)
    parts += [
        report_markdown.render_invariants(
            map(ReportedInvariant.model_validate, recipe.dump_values().get("invariant", ()))
        ),
        description.format_gate_evidence(state),
        description.format_flaky_section(state),
        description.format_cost_section(state),
    ]
    return "\n\n".join(filter(None, parts))


def _describe_earlier_runs(state: RunState) -> list[str]:
    """Return a note for each earlier run of the migration whose changes are not in the base yet."""
    texts = [notice.text for notice in state.notices if notice.code == NoticeCode.EARLIER_RUN]
    return [f"Note: {sanitize_markdown(to_one_line(text))}." for text in texts]


def _describe_step(step: Step) -> str:
    match step.kind:
        case "command":
            return f"- `{step.id}`: {format_code_span(step.run)} (per {step.per})"
        case "rewrite":
            worker = f"rewrites by {step.engine}"
        case "llm":
            worker = f"a model as {step.role}"
        case "human":
            worker = "a person"
    if step.when == "failed":
        worker += ", for what had failed"
    return f"- `{step.id}`: {worker}"


def _render_not_landed(title: str, files: Iterable[FileRecord], status: FileStatus) -> Iterator[str]:
    """Yield the files of a status with their reasons, and the reasons that several of them have in common."""
    lines, counts = [], Counter[str]()
    for file in files:
        if file.status == status:
            lines.append(f"{format_code_span(file.path)}: {sanitize_markdown(to_one_line(file.reason))}")
            counts[file.signature] += 1
    yield _render_list(title, lines)
    alike = []
    for signature, count in counts.most_common():
        if count > 1 and signature:
            alike.append(f"{count} files: {sanitize_markdown(to_one_line(signature))}")
    yield _render_list(f"{title}, reasons alike", alike)


def _render_list(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    return "\n".join((f"### {title} ({len(lines)})", "", *(f"- {line}" for line in limit_lines(lines, _SHOWN))))
