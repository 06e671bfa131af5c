"""Files that a change makes executable, or turns into links or submodules."""

from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import SYMLINK_MODE, ChangedFile
from orchestrator.judge.rules.change_facts import ChangeFacts

_EXECUTABLE = "100755"
_SUBMODULE = "160000"


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
        if target:
            return f"is a link now, to {target[:200]!a}"
        return "is a link now"
    if file.new_mode != _EXECUTABLE:
        return ""
    if file.is_new:
        return "is new and can be executed"
    return "can be executed, and could not before"
