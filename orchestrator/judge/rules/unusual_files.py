"""Files that cannot be judged by the diff: binary, generated, nested too deeply, of another mode, links, submodules."""

from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import SYMLINK_MODE, ChangedFile
from orchestrator.judge.files.classification import find_generated_mark, is_binary, is_minified
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.source.python_syntax import MAX_TREE_DEPTH, is_too_deep

_EXECUTABLE = "100755"
_SUBMODULE = "160000"


def check_binary_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each binary file with new content; none of them blocks."""
    for file in facts.files:
        if file.after is not None and file.has_new_content and is_binary(file.after):
            count = len(file.after)
            size = f"{count:,} bytes" if count < 10_000 else f"{count / 1_000:,.0f} kB"
            text = f"{file.path} is binary ({size}), so that no diff shows what it holds"
            yield Finding(rule=RuleId.BINARY, text=text, path=file.path, is_blocking=False)


def check_generated_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each such file with new content; none of them blocks."""
    for file in facts.files:
        if file.after is None or not file.has_new_content or is_binary(file.after):
            continue
        if is_minified(file.path, file.after):
            text = f"{file.path} is minified, so that nobody can read it"
            yield Finding(rule=RuleId.GENERATED, text=text, path=file.path, is_blocking=False)
        line = find_generated_mark(file.before)
        if line is not None:
            text = f"{file.path}:{line} says that a program writes this file: was it made anew, or edited by hand?"
            yield Finding(rule=RuleId.GENERATED, text=text, path=file.path, line=line, is_blocking=False)


def check_file_modes(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each file with such a new mode; none of them blocks."""
    for file in facts.files:
        if file.new_mode != file.old_mode and (change := _describe_mode(file)):
            yield Finding(rule=RuleId.MODE, text=f"{file.path} {change}", path=file.path, is_blocking=False)


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
