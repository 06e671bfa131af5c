"""Binary files: no diff shows what they hold."""

from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.classification import is_binary
from orchestrator.judge.rules.change_facts import ChangeFacts


def check_binary_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each binary file with new content; none of them blocks."""
    for file in facts.files:
        if file.after is not None and file.has_new_content and is_binary(file.after):
            text = f"{file.path} is binary ({_format_size(len(file.after))}), so that no diff shows what it holds"
            yield Finding(rule=RuleId.BINARY, text=text, path=file.path, is_blocking=False)


def _format_size(size: int) -> str:
    if size < 10_000:
        return f"{size:,} bytes"
    return f"{size / 1_000:,.0f} kB"
