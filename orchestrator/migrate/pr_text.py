"""The words of a migration's pull request."""

from collections import Counter
from collections.abc import Iterable

from orchestrator.domain.migration import FileRecord, FileStatus
from orchestrator.domain.plain import code_span, inert, one_line
from orchestrator.domain.state import RunState
from orchestrator.engine.pr_text import cost, evidence, flaky, unsafe
from orchestrator.migrate.recipe import Recipe, Step

_SHOWN = 200


def migration_body(state: RunState, recipe: Recipe, reason: str) -> str:
    """The body, as Markdown: what landed, what did not and why, the evidence, the cost."""
    landed = [file for file in state.files.values() if file.status == FileStatus.MERGED]
    rejected = [file for file in state.files.values() if file.status == FileStatus.REJECTED]
    steps = "\n".join(f"- `{step.id}`: {_step(step)}" for step in recipe.step)
    unchanged = [file for file in state.files.values() if file.status == FileStatus.UNCHANGED]
    waiting = [file for file in state.files.values() if file.status == FileStatus.NEEDS_HUMAN]
    parts = [
        unsafe(state),
        inert(recipe.migration.description),
        f"{inert(reason)}. Every file that landed did so in a union that passed the checks below.",
        f"### Steps\n\n{steps}",
        _files("Landed", landed),
        _reasons("Not landed", rejected),
        _reasons("Not changed by any step", unchanged),
        _reasons("Left to a person", waiting),
        evidence(state),
        flaky(state),
        cost(state),
    ]
    return "\n\n".join(part for part in parts if part)


def _step(step: Step) -> str:
    match step.kind:
        case "command":
            return f"{code_span(step.run)} (per {step.per})"
        case "rewrite":
            return f"{code_span(step.pattern or step.rule)} becomes {code_span(step.rewrite or '')} ({step.engine})"
        case "llm":
            return f"a model edits the file, in up to {step.attempts} attempts"
    return "what is left waits for a person"


def _files(title: str, files: Iterable[FileRecord]) -> str:
    return _list(title, [code_span(file.path) for file in files])


def _reasons(title: str, files: list[FileRecord]) -> str:
    table = _list(title, [f"{code_span(file.path)}: {inert(one_line(file.reason))}" for file in files])
    alike = [(sign, count) for sign, count in Counter(f.signature for f in files).most_common() if count > 1 and sign]
    groups = _list(f"{title}, reasons alike", [f"{count} files: {inert(one_line(sign))}" for sign, count in alike])
    return "\n\n".join(part for part in (table, groups) if part)


def _list(title: str, lines: list[str]) -> str:
    if not lines:
        return ""
    shown = [f"- {line}" for line in lines[:_SHOWN]]
    more = [f"- and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n".join((f"### {title} ({len(lines)})", "", *shown, *more))
