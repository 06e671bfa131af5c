"""From a model's verdict on the contract to the one that counts, as pure rules.

What the harness saw goes before what a model says: a model can call unmet what is green, and never met what is red.
"""

import re
from collections.abc import Collection, Iterator, Mapping

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.run.contract import Contract, Criterion, CriterionFinding, IterationVerdict

_WORD = re.compile(r"[^\s,;()\[\]{}<>\"'`]+")
_LINES = re.compile(r":\d+(?:[-:]\d+)?\Z")


class CriterionProof(FrozenModel):
    """What the harness saw of one criterion on the final state: the key of the receipt, and in words what is red."""

    id: str
    receipt: str
    red: str = ""


def settle_contract_verdict(
    contract: Contract, verdict: IterationVerdict, proofs: Mapping[str, CriterionProof], against: Collection[str] = ()
) -> IterationVerdict:
    """The verdict that counts: a finding for each criterion, and done only if all are met and nothing is `against` it.

    A criterion that the model did not speak of is unmet, and so is one whose command is red or was not run.
    """
    red = {one.id: words for one in contract.criteria if (words := _red(one, proofs.get(one.id)))}
    findings = tuple(_finding(one, verdict, proofs.get(one.id), red.get(one.id, "")) for one in contract.criteria)
    is_overruled = verdict.decision == "done" and (bool(against) or not all(finding.met for finding in findings))
    told = (one for one in findings if not one.met and (is_overruled or one.id in red))
    return verdict.model_copy(
        update={
            "decision": "continue" if is_overruled else verdict.decision,
            "findings": findings,
            "reasons": (*verdict.reasons, *(f"{one.id} is not met: {one.evidence}" for one in told), *against),
        }
    )


def _red(criterion: Criterion, proof: CriterionProof | None) -> str:
    """What speaks against a criterion beside a model; empty when nothing does."""
    if proof is not None:
        return proof.red
    if criterion.command:
        return f"its command `{criterion.command}` was not run"
    return ""


def _finding(
    criterion: Criterion, verdict: IterationVerdict, proof: CriterionProof | None, red: str
) -> CriterionFinding:
    said = []
    for finding in verdict.findings:
        if finding.id == criterion.id:
            said.append(finding)
    against = next((finding for finding in said if not finding.met), None)
    if said:
        told = (against or said[0]).evidence
    else:
        told = "the judge did not speak of it"
    return CriterionFinding(
        id=criterion.id,
        met=bool(said) and against is None and not red,
        evidence=red or told or "nothing was cited for it",
        receipt=proof.receipt if proof else "",
    )


def list_uncited_criteria(verdict: IterationVerdict, known: Collection[str]) -> Iterator[str]:
    """Criteria that a verdict calls met without naming anything that is known: a task, a check, a receipt, a file."""
    names, spaced = frozenset(known), [name for name in known if " " in name]
    for finding in verdict.findings:
        if not finding.met or any(name in finding.evidence for name in spaced):
            continue
        if not names.intersection(_names(finding.evidence)):
            yield finding.id


def _names(evidence: str) -> Iterator[str]:
    """What may be a name in a text: each word, without the marks around it and without line numbers behind it."""
    for word in _WORD.findall(evidence):
        name = word.rstrip(".:!?")
        yield name
        yield _LINES.sub("", name)
