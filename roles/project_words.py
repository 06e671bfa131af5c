"""The words of the project and of the user that open a brief: the rules in its files, and instructions for the role."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.agent.brief_room import find_brief_room
from orchestrator.agent.session_spec import SessionSpec
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.text.listing import join_limited
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.ports.ledger import Ledger, record_notice_once
from orchestrator.ports.project_rules import ProjectRules, RuleText, SelectedRules
from prompts import PromptSource, fence_text
from worktrees.safety.path_rules import escape_path

_SHOWN = 10
_SHOWN_PROBLEMS = 20
_PATH_CHARS = 160


async def open_with_project_words(
    spec: SessionSpec,
    rules: ProjectRules,
    prompts: PromptSource,
    ledger: Ledger,
    max_chars: int,
    more: Sequence[str],
    heard: str | None = None,
) -> SessionSpec:
    """Return a conversation whose brief begins with the project's rules and the user's instructions for the role.

    The rules are those for the paths of its task and for `more`. A conversation that goes on from another has heard
    them; `heard` are the instructions that it has, where they may be others now.
    """
    if spec.continues is not None:
        is_new = heard is not None and heard != spec.settings.instructions
        return _add_instructions(spec, prompts) if is_new else spec
    limit = min(max_chars, find_brief_room(spec.context_tokens, spec.fixed_chars).rules)
    task = ledger.state.tasks.get(spec.task)
    paths = (*task.spec.paths, *more) if task else tuple(more)
    selected = await rules.select_rules(paths, limit)
    parts = []
    if selected.texts or selected.unshown or selected.problems:
        parts.append(prompts.load_prompt("project-rules").render_text(rules=format_rules(selected)))
    if cut := selected.list_cut_files():
        await _tell_of_cut_rules(ledger, cut, limit)
    spec = _add_instructions(spec, prompts)
    return replace(spec, brief="\n".join((*parts, spec.brief)))


def _add_instructions(spec: SessionSpec, prompts: PromptSource) -> SessionSpec:
    """Return a conversation whose brief begins with the user's instructions for its role, if there are any."""
    if not spec.settings.instructions:
        return spec
    words = prompts.load_prompt("role-instructions").render_text(instructions=spec.settings.instructions)
    return replace(spec, brief=f"{words}\n{spec.brief}")


def format_rules(selected: SelectedRules) -> str:
    """Return rules as they stand in a brief: each file fenced under its name, then what is missing."""
    return "\n\n".join(_iterate_parts(selected))


def _iterate_parts(selected: SelectedRules) -> Iterator[str]:
    for rule in selected.texts:
        yield f"{_describe_rule(rule)}\n{fence_text('project-rules', rule.text)}{_describe_cut(rule)}"
    if selected.unshown:
        names = join_limited(map(_quote_path, selected.unshown), _SHOWN)
        yield f"There was no room to show: {names}."
    if selected.problems:
        problems = [f"- {problem}" for problem in selected.problems[:_SHOWN_PROBLEMS]]
        yield f"Not shown:\n{fence_text('missing', chr(10).join(problems))}"


def _describe_rule(rule: RuleText) -> str:
    place = f"for everything below {_quote_path(rule.directory)}" if rule.directory else "for the whole repository"
    if rule.importer:
        return f"{_quote_path(rule.path)}, which {_quote_path(rule.importer)} brings in:"
    return f"{_quote_path(rule.path)}, {place}:"


def _quote_path(path: str) -> str:
    """Return a path that cannot be taken for words of the brief: in quotes, and cut where it is long."""
    return json.dumps(to_one_line(escape_path(path), _PATH_CHARS), ensure_ascii=False)


def _describe_cut(rule: RuleText) -> str:
    if not rule.left_out_chars:
        return ""
    total = len(rule.text) + rule.left_out_chars
    return f"\n[{rule.left_out_chars:,} of {total:,} characters of {_quote_path(rule.path)} are left out here]"


async def _tell_of_cut_rules(ledger: Ledger, files: Sequence[str], limit: int) -> None:
    names = join_limited(map(escape_path, files), _SHOWN)
    text = (
        f"the project's rules in {names} do not fit wholly into the {limit:,} characters that a brief has for them: "
        "shorten them, or raise max_chars under [rules], or the role's context_tokens"
    )
    await record_notice_once(ledger, Noticed(level="warning", code=NoticeCode.RULES_CUT, paths=tuple(files), text=text))
