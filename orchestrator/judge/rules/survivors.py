"""The rule over mutants: places of a change that could be altered without a test that notices."""

from collections.abc import Iterator

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.judge.rules.change_facts import ChangeFacts, build_flag


def check_survivors(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a flag for each mutant that survived the tests which reach its file."""
    for mutant in facts.survivors:
        text = f"{mutant.description} and no test that reaches the file noticed"
        yield build_flag(RuleId.SURVIVOR, text, mutant.path, mutant.line)
