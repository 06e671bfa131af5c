"""Files that a program writes, or that are minified so that nobody can read them."""

from collections.abc import Iterator

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.classification import find_generated_mark, is_binary, is_minified
from orchestrator.judge.rules.change_facts import ChangeFacts


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
