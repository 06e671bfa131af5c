"""From a model's verdict on the contract to the one that counts, as pure rules.

What the harness saw goes before what a model says: a model can call unmet what is green, and never met what is red.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.restart.restart_states import RestartState, find_restart_commit
from orchestrator.domain.run.contract import Contract, Criterion, CriterionFinding, IterationVerdict
from orchestrator.domain.text.lazy_pattern import compile_lazily

_WORD = compile_lazily(r"[^\s,;()\[\]{}<>\"'`]+")
_LINES = compile_lazily(r":\d+(?:[-:]\d+)?\Z")


class CriterionProof(FrozenModel):
    """The harness's evidence on one criterion at the end: the key of the receipt, and in words what is red."""

    id: str
    receipt: str
    red: str = ""


def settle_contract_verdict(
    contract: Contract, verdict: IterationVerdict, proofs: Mapping[str, CriterionProof], against: Collection[str] = ()
) -> IterationVerdict:
    """Return the verdict that counts: done only if all criteria are met and nothing is `against` it.

    It has a finding for each criterion. One that the model did not speak of is unmet, and so is one whose command is
    red or was not run.
    """
    findings, unmet, red = [], [], []
    for criterion in contract.criteria:
        why = _describe_red(criterion, proofs.get(criterion.id))
        finding = _build_finding(criterion, verdict, proofs.get(criterion.id), why)
        findings.append(finding)
        if not finding.met:
            told = f"{finding.id} is not met: {finding.evidence}"
            unmet.append(told)
            red += [told] * bool(why)
    decision, reasons = verdict.decision, [*verdict.reasons, *red]
    if decision == "done" and (against or unmet):
        decision, reasons = "continue", [*verdict.reasons, *unmet]
    changes = {"decision": decision, "findings": tuple(findings), "reasons": (*reasons, *against)}
    return verdict.model_copy(update=changes)


def settle_restart_state(verdict: IterationVerdict, states: Sequence[RestartState]) -> IterationVerdict:
    """Return the verdict with the whole commit that a restart begins from; empty for any other decision."""
    commit = ""
    if verdict.decision == "restart":
        commit = find_restart_commit(states, verdict.restart_from) or states[0].commit
    return verdict.model_copy(update={"restart_from": commit})


def explain_unknown_state(verdict: IterationVerdict, states: Sequence[RestartState]) -> str:
    """Return why a restart cannot begin from the state it names; empty if it can."""
    if verdict.decision != "restart" or not states or find_restart_commit(states, verdict.restart_from):
        return ""
    return (
        f"restart_from names {verdict.restart_from!r}, which is no state of this run: name one of the list by its id "
        f"(the newest is {states[-1].id}), or leave it empty to begin again from the base"
    )


def _describe_red(criterion: Criterion, proof: CriterionProof | None) -> str:
    """Return what speaks against a criterion beside a model; empty when nothing does."""
    if proof is not None:
        return proof.red
    if criterion.command:
        return f"its command `{criterion.command}` was not run"
    return ""


def _build_finding(
    criterion: Criterion, verdict: IterationVerdict, proof: CriterionProof | None, red: str
) -> CriterionFinding:
    evidence, is_met, receipt = "the judge did not speak of it", False, ""
    for finding in verdict.findings:
        if finding.id != criterion.id:
            continue
        if not finding.met:
            evidence, is_met = finding.evidence, False
            break
        if not is_met:
            evidence, is_met = finding.evidence, True
    if proof is not None:
        receipt = proof.receipt
    evidence = red or evidence or "nothing was cited for it"
    return CriterionFinding(id=criterion.id, met=is_met and not red, evidence=evidence, receipt=receipt)


def list_uncited_criteria(verdict: IterationVerdict, known: Collection[str]) -> Iterator[str]:
    """Yield criteria that a verdict calls met without naming anything known: a task, a check, a receipt, a file."""
    for finding in verdict.findings:
        if finding.met and not _cites_any(finding.evidence, known):
            yield finding.id


def _cites_any(evidence: str, known: Collection[str]) -> bool:
    names = frozenset(_iterate_names(evidence))
    return any(name in names or (" " in name and name in evidence) for name in known)


def _iterate_names(evidence: str) -> Iterator[str]:
    """Yield what may be a name in a text: each word, without the marks around it and line numbers behind it."""
    for word in _WORD.findall(evidence):
        name = word.rstrip(".:!?")
        yield name
        yield _LINES.sub("", name)
