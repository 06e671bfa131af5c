"""Files of which the diff tells too little or too much: binary, generated, of another mode, settings, layout alone."""

import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.files.changed_file import SYMLINK_MODE, ChangedFile, DiffHunk, group_by_path
from orchestrator.judge.files.classification import find_generated_mark, is_binary, is_minified
from orchestrator.judge.files.path_globs import PathGlobs
from orchestrator.judge.rules.change_facts import ChangeFacts, build_flag
from orchestrator.judge.source.python_syntax import MAX_TREE_DEPTH, is_too_deep

_SETTINGS_FILES = PathGlobs(
    (
        *(".flake8", "mypy.ini", ".mypy.ini", "ruff.toml", ".ruff.toml", ".pylintrc", "pylintrc", "pyrightconfig.json"),
        *(".eslintrc*", "eslint.config.*", ".eslintignore", "tsconfig*.json", "biome.json*", ".golangci.*"),
        *("clippy.toml", ".clippy.toml", ".rubocop.yml", ".rubocop_todo.yml", ".shellcheckrc", ".clang-tidy"),
        *(".bandit", ".semgrepignore", "phpstan.neon*", "psalm.xml", "checkstyle.xml", "detekt.yml", ".swiftlint.yml"),
    )
)
_AGENT_FILES = PathGlobs(
    (
        *("AGENTS.md", "AGENTS.*.md", "CLAUDE.md", "CLAUDE.*.md", "GEMINI.md", ".cursorrules", ".windsurfrules"),
        "/.orchestrate/field-guide.toml",
        *(
            ".clinerules",
            ".cursor/rules/**",
            ".claude/**",
            ".github/copilot-instructions.md",
            ".github/instructions/**",
        ),
    )
)
_TOOLS = ("ruff", "mypy", "pyright", "basedpyright", "pylint", "flake8", "ty", "bandit", "isort", "black")
_CHANGE = "sets what linters or type checkers ask for, and was changed"


def check_agent_rules(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each changed file that tells agents what to do; none of them blocks."""
    names = frozenset(facts.rule_files)
    for file in facts.files:
        if file.path.rpartition("/")[2] in names or _AGENT_FILES.match_file(file.path):
            text = (
                f"{file.path} tells agents what to do, and differs from the base: nobody in this run goes by what it "
                "says now, but agents of later runs will"
            )
            yield build_flag(RuleId.AGENT_RULES, text, file.path)


def check_linter_settings(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each file of the base whose settings for such tools differ; none of them blocks."""
    for file in facts.files:
        if file.is_deleted or file.is_new:
            continue
        if not file.path.endswith("pyproject.toml"):
            if _SETTINGS_FILES.match_file(file.path):
                yield build_flag(RuleId.LINTER, f"{file.path} {_CHANGE}", file.path)
            continue
        old, new = _read_tools(file.before), _read_tools(file.after)
        sections = ", ".join(f"tool.{name}" for name in _TOOLS if old.get(name) != new.get(name))
        if sections:
            yield build_flag(RuleId.LINTER, f"{file.path}: {sections} {_CHANGE}", file.path)


def _read_tools(content: bytes | None) -> dict[str, Any]:
    try:
        tools = tomllib.loads((content or b"").decode()).get("tool")
    except (ValueError, RecursionError):
        return {}
    return tools if isinstance(tools, dict) else {}


_QUOTES = str.maketrans({"'": '"'})
_TAB_COLUMNS = 8


def check_formatting_only(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each file with hunks that only lay out anew what stood there; it names their lines."""
    files = {file.path: file for file in facts.files}
    for path, hunks in group_by_path(facts.hunks).items():
        file = files.get(path)
        if file and file.before and file.after and _has_windows_ends(file.before) != _has_windows_ends(file.after):
            text = f"{path} has other line ends than on the base"
            yield build_flag(RuleId.LAYOUT, text, path)
        else:
            yield from _check_hunks(path, hunks)


def _check_hunks(path: str, hunks: Sequence[DiffHunk]) -> Iterator[Finding]:
    lines = [hunk.line for hunk in hunks if _read_layout(hunk.removed) == _read_layout(hunk.added)]
    if not lines:
        return
    part = "all it changes" if len(lines) == len(hunks) else f"{len(lines)} of {len(hunks)} hunks"
    text = f"{path}: {part} differs only in white space or quotes (line {join_limited(lines, 5)})"
    yield build_flag(RuleId.LAYOUT, text, path, lines[0])


def _has_windows_ends(content: bytes) -> bool | None:
    """Return True if most lines end as on Windows; None where there is no line."""
    lines = content.count(b"\n")
    if lines:
        return content.count(b"\r\n") * 2 > lines
    return None


def _read_layout(lines: Sequence[str]) -> list[tuple[int, list[str]]]:
    """Return indentation and words of each line that is not blank: how deep a line stands may matter."""
    layout = []
    for line in lines:
        plain = line.expandtabs(_TAB_COLUMNS).rstrip().translate(_QUOTES)
        if plain:
            layout.append((len(plain) - len(plain.lstrip()), plain.split()))
    return layout


_EXECUTABLE = "100755"
_SUBMODULE = "160000"


def check_binary_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each binary file with new content; none of them blocks."""
    for file in facts.files:
        if file.after is not None and file.has_new_content and is_binary(file.after):
            count = len(file.after)
            size = f"{count:,} bytes" if count < 10_000 else f"{count / 1_000:,.0f} kB"
            text = f"{file.path} is binary ({size}), so that no diff shows what it holds"
            yield build_flag(RuleId.BINARY, text, file.path)


def check_generated_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each such file with new content; none of them blocks."""
    for file in facts.files:
        if file.after is None or not file.has_new_content or is_binary(file.after):
            continue
        if is_minified(file.path, file.after):
            text = f"{file.path} is minified, so that nobody can read it"
            yield build_flag(RuleId.GENERATED, text, file.path)
        line = find_generated_mark(file.before)
        if line is not None:
            text = f"{file.path}:{line} says that a program writes this file: was it made anew, or edited by hand?"
            yield build_flag(RuleId.GENERATED, text, file.path, line)


def check_file_modes(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each file with such a new mode; none of them blocks."""
    for file in facts.files:
        if file.new_mode != file.old_mode and (change := _describe_mode(file)):
            yield build_flag(RuleId.MODE, f"{file.path} {change}", file.path)


def _describe_mode(file: ChangedFile) -> str:
    if file.new_mode == _SUBMODULE:
        return "is a submodule now, whose content is not in this diff"
    if file.new_mode == SYMLINK_MODE:
        target = (file.after or b"").decode("utf-8", "replace")
        return f"is a link now, to {target[:200]!a}" if target else "is a link now"
    if file.new_mode != _EXECUTABLE:
        return ""
    if file.is_new:
        return "is new and can be executed"
    return "can be executed, and could not before"


def check_unreadable_code(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each file whose code is nested too deeply for any rule to look into.

    It blocks unless the base's version was as deep, or the plan grants the file.
    """
    for file in facts.files:
        if file.is_python and file.after is not None and is_too_deep(file.after):
            is_deeper = file.before is None or not is_too_deep(file.before)
            text = f"{file.path} is nested more than {MAX_TREE_DEPTH} levels deep, so no rule can look into it"
            yield facts.build_finding(
                RuleId.UNREADABLE, text, file.path, advice=": write it flatter", is_severe=is_deeper
            )
