"""Plans as TOML: what is written is read as the same plan, and a broken text is refused at its line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.ownership.decisions import DecisionDraft
from orchestrator.domain.planning.plan_toml import BrokenPlanText, read_plan, render_plan
from orchestrator.domain.run.grant import Grant, GrantIntent
from orchestrator.domain.run.plan import Plan, Withdrawal
from orchestrator.domain.run.task import TaskDraft

_TEXTS = st.text(max_size=30) | st.sampled_from(
    ['a\n"""\n\\', "\r\n\t\x7f\x00", "'''", "# no comment", "[[tasks]]\n= 1"]
)
_LISTS = st.lists(_TEXTS, max_size=3).map(tuple)
_GRANTS = st.builds(
    Grant,
    paths=st.lists(_TEXTS, min_size=1, max_size=2).map(tuple),
    may=st.lists(st.sampled_from(GrantIntent), min_size=1, max_size=2).map(tuple),
)
_DRAFTS = st.builds(
    TaskDraft,
    key=_TEXTS,
    kind=st.sampled_from(["leaf", "branch"]),
    title=_TEXTS,
    outcome=_TEXTS,
    acceptance=_LISTS,
    paths=_LISTS,
    non_goals=_LISTS,
    depends_on=_LISTS,
    replaces=st.none() | _TEXTS,
    reconciles=_LISTS,
    decisions=_LISTS,
    checks=_LISTS,
    grants=st.lists(_TEXTS | _GRANTS, max_size=2).map(tuple),
    regenerate=_TEXTS,
    variant=st.none() | _TEXTS,
    verify=st.none() | st.booleans(),
    lands_tests=st.booleans(),
    budget_usd=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    budget_tokens=st.none() | st.integers(0, 10**12),
    best_of=st.integers(-1, 5),
)
_PLANS = st.builds(
    Plan,
    rationale=_TEXTS,
    decisions=st.lists(st.builds(DecisionDraft, id=_TEXTS, text=_TEXTS), max_size=2).map(tuple),
    tasks=st.lists(_DRAFTS, max_size=3).map(tuple),
    cancel=st.lists(st.builds(Withdrawal, key=_TEXTS, reason=_TEXTS), max_size=2).map(tuple),
)
_HEAD = (
    'rationale = "one"\n\n[[tasks]]\nkey = "a"\ntitle = "A"\noutcome = "a works"\n\n[[tasks]]\nkey = "b"\ntitle = "B"\n'
)


@settings(max_examples=60, deadline=None)
@given(_PLANS)
def test_a_written_plan_is_read_as_the_same_plan(plan: Plan) -> None:
    assert read_plan(render_plan(plan)) == plan


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (_HEAD + "outcome = 3\n", 11),
        (_HEAD + 'outcome = "b works"\npaths = ["x", 3]\n', 12),
        (_HEAD, 8),
        (_HEAD + 'outcome = "unclosed\n', 11),
        (_HEAD + 'outcome = "b"\noutcom = "c"\n', 12),
    ],
)
def test_a_broken_text_is_refused_at_its_line(text: str, line: int) -> None:
    with pytest.raises(BrokenPlanText) as refused:
        read_plan(text)
    assert refused.value.line == line
