"""Whatever reviewers vote and receipts say, in any number and order: what is red, unread or not run never merges."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from orchestrator.domain.judging.check import Difference
from orchestrator.domain.judging.check import TestOutcome as Outcome
from orchestrator.domain.judging.verdict import Finding, LensVote, VerdictKind
from orchestrator.domain.run.task import Exit
from orchestrator.judge.gate.difference import compare_outcomes
from orchestrator.judge.verdict.decision import VerdictEvidence, decide_verdict

MERGE = VerdictKind.MERGE
VETOES = ("revise", "restart", "split", "reject", "unreadable")
LOST = ("new_failures", "missing_tests", "newly_skipped", "unsettled", "problems")

words = st.lists(st.sampled_from(["a", "b", "c"]), max_size=2).map(tuple)
differences = st.builds(
    Difference,
    new_failures=words,
    missing_tests=words,
    newly_skipped=words,
    fixed=words,
    problems=words,
    flaky=words,
    unsettled=words,
)
harmless = st.builds(Difference, fixed=words, flaky=words)
finding = st.builds(
    Finding, rule=st.sampled_from(["protected", "flags"]), text=st.just("said"), is_blocking=st.booleans()
)
flags = st.builds(Finding, rule=st.just("flags"), text=st.just("said"), is_blocking=st.just(False))


def votes(*decisions: str) -> st.SearchStrategy[LensVote]:
    made = {"lens": st.sampled_from(["diff", "code"]), "model": st.just("m"), "reasons": words}
    return st.fixed_dictionaries(made | {"decision": st.sampled_from(decisions)}).map(LensVote.model_validate)


anything = st.builds(
    VerdictEvidence,
    exit=st.sampled_from(Exit),
    detail=st.text(max_size=3),
    findings=st.lists(finding, max_size=3).map(tuple),
    difference=st.none() | differences,
    failed_checks=words,
    excerpt=st.sampled_from(["", "E  assert"]),
    receipts=words,
    votes=st.lists(votes("approve", *VETOES), max_size=5).map(tuple),
    revisions=st.integers(0, 4),
)
good = st.builds(
    VerdictEvidence,
    exit=st.just(Exit.FINISHED),
    findings=st.lists(flags, max_size=2).map(tuple),
    difference=harmless,
    receipts=words,
    votes=st.lists(votes("approve"), min_size=1, max_size=5).map(tuple),
    revisions=st.integers(0, 4),
)
"""Nothing speaks against these: the control that the vetoes below are what turns them."""


@given(anything | good)
def test_what_merges_was_run_is_green_and_was_approved_by_everybody_who_voted(seen: VerdictEvidence) -> None:
    if decide_verdict(seen).kind != MERGE:
        return
    assert seen.is_green
    assert seen.difference is not None
    assert not any(getattr(seen.difference, name) for name in LOST)
    assert not seen.failed_checks
    assert not any(one.is_blocking for one in seen.findings)
    assert {vote.decision for vote in seen.votes} <= {"approve"}


@given(anything, st.lists(votes("approve"), max_size=9))
def test_no_number_of_approvals_makes_anything_merge_that_is_not_green(
    seen: VerdictEvidence, more: list[LensVote]
) -> None:
    assume(not seen.is_green)
    assert decide_verdict(seen.with_changes(votes=(*seen.votes, *more))).kind != MERGE
    assert decide_verdict(seen.with_changes(votes=tuple(more))).kind != MERGE


@given(anything, st.lists(votes("approve", *VETOES), max_size=4), words)
def test_neither_votes_nor_receipts_are_a_way_from_another_verdict_to_a_merge(
    seen: VerdictEvidence, more: list[LensVote], receipts: tuple[str, ...]
) -> None:
    assume(decide_verdict(seen).kind != MERGE)
    assert decide_verdict(seen.with_changes(votes=(*seen.votes, *more))).kind != MERGE
    assert decide_verdict(seen.with_changes(receipts=(*seen.receipts, *receipts))).kind != MERGE


@given(good)
def test_control_what_nothing_speaks_against_merges(seen: VerdictEvidence) -> None:
    assert decide_verdict(seen).kind == MERGE


@given(anything | good, votes(*VETOES), st.integers(0, 5))
def test_one_vote_against_it_or_unreadable_keeps_it_out_wherever_it_stands(
    seen: VerdictEvidence, veto: LensVote, place: int
) -> None:
    against = (*seen.votes[:place], veto, *seen.votes[place:])
    assert decide_verdict(seen.with_changes(votes=against)).kind != MERGE


@given(anything | good, st.sampled_from(LOST))
def test_one_red_receipt_more_keeps_it_out(seen: VerdictEvidence, lost: str) -> None:
    red = Difference(**{lost: ("x",)})
    assert decide_verdict(seen.with_changes(difference=(seen.difference or Difference()) + red)).kind != MERGE
    assert decide_verdict(seen.with_changes(difference=red + (seen.difference or Difference()))).kind != MERGE
    assert decide_verdict(seen.with_changes(failed_checks=(*seen.failed_checks, "`make` exits 1"))).kind != MERGE


@given(anything | good, st.sampled_from([one for one in Exit if one != Exit.FINISHED]))
def test_what_did_not_finish_was_not_tested_or_breaks_a_rule_stays_out(seen: VerdictEvidence, other: Exit) -> None:
    blocking = Finding(rule="protected", text="said", is_blocking=True)
    assert decide_verdict(seen.with_changes(exit=other)).kind != MERGE
    assert decide_verdict(seen.with_changes(difference=None)).kind != MERGE
    assert decide_verdict(seen.with_changes(findings=(*seen.findings, blocking))).kind != MERGE


outcomes = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d", "(collection) m", "(set-up) C"]), st.sampled_from(Outcome), max_size=6
)
exits = st.none() | st.sampled_from([-9, 0, 1, 2, 5, 127, 139])
passed = st.sampled_from(["a", "b", "c", "d"])


@given(outcomes, exits, outcomes, exits, passed, st.sampled_from([None, *Outcome]))
def test_a_test_that_passed_and_does_not_any_more_is_never_green(
    base: dict[str, Outcome],
    base_exit: int | None,
    now: dict[str, Outcome],
    now_exit: int | None,
    test: str,
    became: Outcome | None,
) -> None:
    assume(became not in {Outcome.PASSED, Outcome.XPASSED})
    after = {name: outcome for name, outcome in now.items() if name != test}
    after |= {} if became is None else {test: became}
    assert not compare_outcomes(base | {test: Outcome.PASSED}, base_exit, after, now_exit).is_green


@given(outcomes, exits, outcomes, exits)
@settings(max_examples=400)
def test_whatever_is_green_has_every_test_of_the_base_and_every_one_that_passed_passes(
    base: dict[str, Outcome], base_exit: int | None, now: dict[str, Outcome], now_exit: int | None
) -> None:
    if not compare_outcomes(base, base_exit, now, now_exit).is_green:
        return
    tests = {name for name in base if not name.startswith("(")}
    good_ones = {name for name, outcome in base.items() if outcome == Outcome.PASSED and name in now}
    assert tests <= now.keys()
    assert {now[name] for name in good_ones} <= {Outcome.PASSED, Outcome.XPASSED}


@given(st.none() | outcomes, exits, st.none() | outcomes, exits)
def test_a_check_that_tells_less_than_it_told_on_the_base_is_never_green(
    base: dict[str, Outcome] | None, base_exit: int | None, now: dict[str, Outcome] | None, now_exit: int | None
) -> None:
    difference = compare_outcomes(base, base_exit, now, now_exit)
    if base is not None and now is None:
        assert not difference.is_green
    if base is None and (base_exit is None or now_exit != 0):
        assert not difference.is_green
    if now is not None and not any(outcome != Outcome.SKIPPED and name[0] != "(" for name, outcome in now.items()):
        assert not difference.is_green, "never green on nothing"
