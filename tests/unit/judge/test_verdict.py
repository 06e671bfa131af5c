"""From evidence to verdict: only green receipts lead to merge, and a lens can only take that away."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.judging.check import Difference
from orchestrator.domain.judging.verdict import Finding, LensVote, VerdictKind
from orchestrator.domain.run.task import EndCause, Exit, Task
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import check_change
from orchestrator.judge.rules.task_scope import check_task_scope
from orchestrator.judge.verdict.decision import VerdictEvidence, decide_verdict
from tests.unit.judge.changes import changed

GREEN = Difference()
RED = Difference(new_failures=("t",))
TASK = Task.model_validate(
    {"id": "a", "parent": None, "depth": 1, "kind": "leaf", "title": "", "outcome": "", "paths": ["src/**", "*.md"]}
)


def vote(decision: str, *reasons: str) -> LensVote:
    return LensVote.model_validate({"lens": "diff", "model": "m", "decision": decision, "reasons": reasons})


def kind(**evidence: object) -> VerdictKind:
    return decide_verdict(VerdictEvidence.model_validate({"exit": Exit.FINISHED} | evidence)).kind


def test_green_with_approval_merges() -> None:
    assert kind(difference=GREEN, votes=[vote("approve")]) == VerdictKind.MERGE


def test_a_green_gate_does_not_merge_what_fails_the_tasks_own_checks() -> None:
    evidence = VerdictEvidence(
        exit=Exit.FINISHED, difference=GREEN, failed_checks=("`x` exits 1",), votes=(vote("approve"),)
    )
    assert decide_verdict(evidence).kind == VerdictKind.REVISE
    assert decide_verdict(evidence).reasons == ("checks of the task that fail (1): `x` exits 1",)


def test_tests_that_nobody_can_settle_are_a_persons_matter_with_a_cause_of_their_own() -> None:
    evidence = VerdictEvidence(exit=Exit.FINISHED, difference=Difference(unsettled=("t",), flaky=("s", "t")))
    verdict = decide_verdict(evidence)
    assert (verdict.kind, verdict.cause) == (VerdictKind.ESCALATE, EndCause.UNSETTLED_TESTS)
    assert verdict.reasons[0].endswith("on this very tree, of which its runs do not tell who is to blame (1): t")


def test_what_is_red_beside_unsettled_tests_is_revised() -> None:
    verdict = decide_verdict(
        VerdictEvidence(exit=Exit.FINISHED, difference=Difference(unsettled=("t",), missing_tests=("m",)))
    )
    assert (verdict.kind, verdict.cause) == (VerdictKind.REVISE, EndCause.RED_TESTS)


def test_red_is_revised_and_after_two_revisions_begun_afresh() -> None:
    assert [kind(difference=RED, revisions=n) for n in range(4)] == [
        VerdictKind.REVISE,
        VerdictKind.REVISE,
        VerdictKind.RESTART,
        VerdictKind.RESTART,
    ]


def test_a_session_without_a_result_is_begun_afresh_and_named() -> None:
    verdict = decide_verdict(VerdictEvidence(exit=Exit.STUCK, detail="went in circles"))
    assert (verdict.kind, verdict.reasons) == (VerdictKind.RESTART, ("the attempt ended stuck: went in circles",))


def test_without_a_gate_nothing_merges() -> None:
    assert kind(votes=[vote("approve")]) == VerdictKind.ESCALATE


def test_the_strictest_lens_decides() -> None:
    votes = [vote("approve"), vote("revise", "a"), vote("reject", "b"), vote("restart", "c")]
    verdict = decide_verdict(VerdictEvidence(exit=Exit.FINISHED, difference=GREEN, votes=tuple(votes)))
    assert (verdict.kind, verdict.reasons) == (VerdictKind.REJECT, ("diff: b",))


def test_a_vote_that_cannot_be_read_is_no_approval_and_no_rejection() -> None:
    assert kind(difference=GREEN, votes=[vote("approve"), vote("unreadable", "?")]) == VerdictKind.ESCALATE


def test_a_change_that_is_only_too_large_is_split_and_one_with_more_to_mend_is_mended_first() -> None:
    size = Finding(rule="size", text="6000 lines", is_blocking=True)
    assert kind(findings=[size]) == VerdictKind.SPLIT
    assert kind(findings=[size, Finding(rule="secret", text="x", is_blocking=True)]) == VerdictKind.REVISE
    assert kind(findings=[size.model_copy(update={"is_blocking": False})], difference=GREEN) == VerdictKind.MERGE


def test_a_reviewer_can_have_a_task_split_where_no_other_says_that_it_must_not_be_done() -> None:
    assert kind(difference=GREEN, votes=[vote("restart", "a"), vote("split", "b")]) == VerdictKind.SPLIT
    assert kind(difference=GREEN, votes=[vote("split", "a"), vote("reject", "b")]) == VerdictKind.REJECT


def test_every_verdict_names_what_it_rests_on() -> None:
    def cause(**given: object) -> EndCause | None:
        return decide_verdict(
            VerdictEvidence.model_validate({"exit": Exit.FINISHED, "difference": GREEN} | given)
        ).cause

    rule = Finding(rule="r", text="t", is_blocking=True)
    assert cause() is None
    assert cause(exit=Exit.OUT_OF_BUDGET) == EndCause.BUDGET_SPENT
    assert cause(exit=Exit.MALFORMED) == EndCause.MODEL_UNREADABLE
    assert cause(findings=[rule]) == EndCause.RULE_BROKEN
    assert cause(difference=None) == EndCause.NOT_TESTED
    assert (cause(difference=RED), cause(failed_checks=["x"])) == (EndCause.RED_TESTS, EndCause.RED_TESTS)
    assert cause(votes=[vote("revise", "x")]) == EndCause.REFUSED_BY_REVIEW
    assert cause(votes=[vote("split", "x")]) == EndCause.TOO_LARGE
    assert cause(votes=[vote("unreadable", "x")]) == EndCause.UNREADABLE_REVIEW


reds = st.builds(
    Difference,
    new_failures=st.lists(st.just("t"), max_size=1).map(tuple),
    missing_tests=st.lists(st.just("m"), max_size=1).map(tuple),
    newly_skipped=st.lists(st.just("s"), max_size=1).map(tuple),
    problems=st.lists(st.just("p"), max_size=1).map(tuple),
    flaky=st.lists(st.just("f"), max_size=1).map(tuple),
    unsettled=st.lists(st.just("u"), max_size=1).map(tuple),
)
votes = st.lists(
    st.sampled_from(["approve", "revise", "restart", "split", "reject", "unreadable"]).map(
        lambda name: vote(name, "why")
    ),
    max_size=4,
)
evidence = st.builds(
    VerdictEvidence,
    exit=st.sampled_from(Exit),
    difference=st.none() | reds,
    failed_checks=st.lists(st.just("c"), max_size=1).map(tuple),
    findings=st.lists(
        st.builds(Finding, rule=st.sampled_from(["size", "r"]), text=st.just("t"), is_blocking=st.booleans()),
        max_size=2,
    ).map(tuple),
    votes=votes.map(tuple),
    revisions=st.integers(0, 4),
)


@given(evidence)
def test_no_red_check_no_veto_and_no_missing_receipt_ever_leads_to_merge(seen: VerdictEvidence) -> None:
    may_merge = (
        seen.exit == Exit.FINISHED
        and seen.difference is not None
        and seen.difference.is_green
        and not seen.failed_checks
        and not any(finding.is_blocking for finding in seen.findings)
        and all(one.decision == "approve" for one in seen.votes)
    )
    verdict = decide_verdict(seen)
    assert (verdict.kind == VerdictKind.MERGE) == may_merge
    assert verdict.kind == VerdictKind.MERGE or verdict.reasons, "whoever is sent back is told why"
    assert (verdict.cause is None) == may_merge, "and why has a name"


def test_rules_block_the_empty_and_the_endless_and_only_note_the_rest() -> None:
    def rules(grown: bool = True, lines: int = 10, dropped: tuple[str, ...] = ()) -> dict[str, bool]:
        files = [changed("src/a.py", "", "a"), changed("setup.py", "", "a")]
        facts = ChangeFacts(files, sizes={"src/a.py": lines}, task=TASK, left_out_files=dropped, is_empty=not grown)
        return {finding.rule: finding.is_blocking for finding in check_change(facts)}

    assert rules(grown=False) == {"empty": True, "scope": False}
    assert rules(lines=6_000) == {"size": True, "scope": False}
    assert rules(dropped=("big.bin: too large",)) == {"dropped": False, "scope": False}


def test_of_many_files_left_out_a_reviewer_is_told_some_and_how_many() -> None:
    found = check_change(ChangeFacts(left_out_files=[f"{n}.bin: too large" for n in range(5_000)]))
    assert [finding.text[-14:] for finding in found] == [" and 4990 more"]


def test_a_task_that_names_no_paths_has_no_scope_to_leave() -> None:
    files = [changed(path, "a", "b") for path in ("src/x/y.py", "README.md", "setup.cfg")]
    (finding,) = check_task_scope(ChangeFacts(files, task=TASK))
    assert finding.text == "outside the paths the task expected to change: setup.cfg"
    assert list(check_task_scope(ChangeFacts(files, task=TASK.model_copy(update={"paths": ()})))) == []


def test_a_verdict_names_the_rules_whose_findings_it_rests_on_and_those_that_are_only_told() -> None:
    findings = (
        Finding(rule="suppression", text="a.py:1 silences a tool", is_blocking=True),
        Finding(rule="addressed", text="a.py:2 speaks to whoever reviews it", is_blocking=False),
    )
    verdict = decide_verdict(VerdictEvidence(exit=Exit.FINISHED, findings=findings, difference=GREEN))
    assert verdict.findings == findings
    assert (verdict.reasons, verdict.flags) == ((findings[0].text,), (findings[1].text,))
