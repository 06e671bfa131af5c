"""The verdict on the contract: what the harness saw goes before what a model says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.run.contract import Contract, Criterion, CriterionFinding, IterationVerdict
from orchestrator.judge.verdict.contract import CriterionProof, list_uncited_criteria, settle_contract_verdict

IDS = ("goal", "gate", "docs", "must-1", "must-2")
CONTRACT = Contract(
    criteria=tuple(Criterion(id=name, text=name, command=f"./{name}" if "-" in name else None) for name in IDS)
)
NAMES = st.sampled_from((*IDS, "other"))
VERDICTS = st.builds(
    IterationVerdict,
    decision=st.sampled_from(("done", "continue", "restart")),
    findings=st.lists(
        st.builds(CriterionFinding, id=NAMES, met=st.booleans(), evidence=st.sampled_from(("", "a.py")), receipt=NAMES)
    ).map(tuple),
    reasons=st.lists(st.sampled_from(("r", "s"))).map(tuple),
)
PROOFS = st.lists(
    st.builds(CriterionProof, id=NAMES, receipt=st.just("k"), red=st.sampled_from(("", "`x` exits 1")))
).map(lambda proofs: {proof.id: proof for proof in proofs})
CONTRACTS = st.lists(st.sampled_from(CONTRACT.criteria), unique=True).map(lambda some: Contract(criteria=tuple(some)))


@given(CONTRACTS, VERDICTS, PROOFS)
def test_nothing_is_done_that_a_command_or_the_judge_does_not_find_met(
    contract: Contract, said: IterationVerdict, proofs: dict[str, CriterionProof]
) -> None:
    verdict = settle_contract_verdict(contract, said, proofs)
    assert [finding.id for finding in verdict.findings] == [criterion.id for criterion in contract.criteria]
    for criterion, finding in zip(contract.criteria, verdict.findings, strict=True):
        proof, own = proofs.get(criterion.id), [one for one in said.findings if one.id == criterion.id]
        is_green = not criterion.command if proof is None else not proof.red
        assert finding.met == (is_green and bool(own) and all(one.met for one in own))
        assert finding.receipt == (proof.receipt if proof else "")
    if verdict.decision == "done":
        assert said.decision == "done"
        assert all(finding.met for finding in verdict.findings)
    elif said.decision == "done":
        assert verdict.decision == "continue"
        assert len(verdict.reasons) > len(said.reasons), "a planner has to know what to do"
    assert verdict.reasons[: len(said.reasons)] == said.reasons


def found(**met: bool) -> IterationVerdict:
    findings = tuple(CriterionFinding(id=name, met=is_met, evidence="a.py") for name, is_met in met.items())
    return IterationVerdict(decision="done", findings=findings)


def test_a_red_command_makes_of_done_a_task_for_the_planner() -> None:
    contract = Contract(criteria=(Criterion(id="lint", text="clean", command="ruff"),))
    red = CriterionProof(id="lint", receipt="k", red="`ruff` exits 1; it printed:\nx.py:1: E1")
    verdict = settle_contract_verdict(contract, found(lint=True), {"lint": red})
    assert (verdict.decision, verdict.reasons) == ("continue", (f"lint is not met: {red.red}",))
    assert verdict.findings[0] == CriterionFinding(id="lint", met=False, evidence=red.red, receipt="k")


def test_a_green_command_does_not_make_met_what_the_judge_calls_unmet() -> None:
    contract = Contract(criteria=(Criterion(id="lint", text="clean", command="ruff"),))
    verdict = settle_contract_verdict(contract, found(lint=False), {"lint": CriterionProof(id="lint", receipt="k")})
    assert (verdict.decision, verdict.findings[0].met, verdict.findings[0].receipt) == ("continue", False, "k")


@pytest.mark.parametrize(
    ("evidence", "is_cited"),
    [
        ("storage/index landed", True),
        ("see `src/a.py:12-14`.", True),
        ("src/a.py:12:5", True),
        ("the receipt check/gate.0a1b2c3d/4e5f~0 (green)", True),
        ("my file.txt was added", True),
        ("everything works", False),
        ("src/b.py", False),
        ("storage", False),
        ("", False),
    ],
)
def test_evidence_names_something_that_is_known(evidence: str, is_cited: bool) -> None:
    known = ("storage/index", "src/a.py", "check/gate.0a1b2c3d/4e5f~0", "my file.txt")
    finding = CriterionFinding(id="goal", met=True, evidence=evidence)
    unmet = CriterionFinding(id="docs", met=False, evidence="nothing is there to be named")
    verdict = IterationVerdict(decision="done", findings=(finding, unmet))
    assert list(list_uncited_criteria(verdict, known)) == ([] if is_cited else ["goal"])
