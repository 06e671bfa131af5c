"""The contract of a run that has begun: nobody changes it but a person."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.commands.definitions import AddCriterion, Command, Configure, DropCriterion
from orchestrator.domain.commands.goal import explain_refusal
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.people import ApprovalDecided, ApprovalRequested, CommandTaken
from orchestrator.domain.event.run import ContractFrozen, IterationJudged, IterationStarted, RunStarted
from orchestrator.domain.fold.projection import apply_recorded_event
from orchestrator.domain.ids import CommitId, RunId, TreeId
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.contract import Contract, ContractAltered, Criterion, IterationVerdict
from orchestrator.domain.run.state import RunState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GOAL, GATE = Criterion(id="goal", text="g"), Criterion(id="gate", text="t", command="t")
FROZEN = Contract(criteria=(GOAL, GATE, Criterion(id="docs", text="d")))
STARTED = RunStarted(
    run=RunId("r"), mode="goal", goal="g", started_at=NOW, repository="/r", base=CommitId("a" * 40),
    base_tree=TreeId("a" * 40), branch="b", target="main", settings={},
)  # fmt: skip
IDS = st.sampled_from(("goal", "gate", "docs", "x", "y"))
CRITERIA = st.builds(Criterion, id=IDS, text=st.sampled_from(("t", "u")), command=st.sampled_from((None, "true")))
CONTRACTS = st.builds(Contract, criteria=st.lists(CRITERIA, max_size=5, unique_by=lambda one: one.id).map(tuple))


def told(command: Command, refused: str = "") -> CommandTaken:
    return CommandTaken(key="k", by="ada", sent_at=NOW, command=command, refused=refused)


def asked(*criteria: Criterion) -> ApprovalRequested:
    detail = tuple(f"{one.id}: {one.text}" for one in criteria)
    return ApprovalRequested(
        approval=Approval(
            item="contract/1", matter="contract", subject="1", title="add", detail=detail, criteria=criteria
        )
    )


def yes() -> ApprovalDecided:
    return ApprovalDecided(item="contract/1", decision="approve", by="ada")


def folded(*events: Event) -> RunState:
    state = RunState()
    for seq, event in enumerate((STARTED, ContractFrozen(contract=FROZEN), IterationStarted(number=1), *events)):
        apply_recorded_event(state, RecordedEvent(seq + 1, NOW, event))
    return state


ACTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(ContractFrozen, contract=CONTRACTS),
    st.builds(told, st.builds(AddCriterion, criterion=CRITERIA)),
    st.builds(told, st.builds(DropCriterion, id=IDS)),
    st.builds(told, st.builds(DropCriterion, id=IDS), st.just("no")),
    st.lists(CRITERIA, max_size=2).map(lambda some: asked(*some)),
    st.builds(IterationJudged, number=st.just(1), verdict=st.just(IterationVerdict(decision="done"))),
)


@given(st.lists(ACTS, max_size=12))
def test_no_event_changes_a_frozen_contract_but_the_words_of_a_person(events: list[Event]) -> None:
    state, seq = folded(), 3
    for event in events:
        if isinstance(event, CommandTaken) and not event.refused and explain_refusal(state, event.command):
            continue  # an engine would have refused it
        before, seq = state.goal.contract, seq + 1
        try:
            apply_recorded_event(state, RecordedEvent(seq, NOW, event))
        except ContractAltered:
            assert isinstance(event, ContractFrozen)
        if not (isinstance(event, CommandTaken) and not event.refused):
            assert state.goal.contract == before
        assert state.goal.contract is not None
        assert {"goal", "gate"} <= state.goal.contract.ids
        assert len(state.goal.contract.ids) == len(state.goal.contract.criteria)


def test_a_yes_adds_what_was_asked_and_takes_nothing_away() -> None:
    extra = Criterion(id="fast", text="f", command="true")
    state = folded(asked(extra, Criterion(id="docs", text="something else")), yes())
    assert state.goal.contract == Contract(criteria=(*FROZEN.criteria, extra))


def test_an_old_journal_that_froze_what_a_person_let_be_added_is_read_as_it_was() -> None:
    extra = Criterion(id="fast", text="f")
    in_words = asked(extra)
    in_words = in_words.model_copy(update={"approval": in_words.approval.model_copy(update={"criteria": ()})})
    grown = ContractFrozen(contract=Contract(criteria=(*FROZEN.criteria, extra)))
    assert folded(in_words, yes(), grown).goal.contract == grown.contract
    with pytest.raises(ContractAltered):
        folded(in_words, grown)
    with pytest.raises(ContractAltered):
        folded(in_words, yes(), ContractFrozen(contract=Contract(criteria=(GOAL, extra))))


def test_a_verdict_on_a_contract_that_was_changed_meanwhile_is_void() -> None:
    judged = IterationJudged(number=1, verdict=IterationVerdict(decision="done"), again=0)
    changed = told(AddCriterion(criterion=Criterion(id="x", text="t")))
    assert len(folded(judged).goal.iterations) == 1
    assert (folded(judged, changed).goal.iterations, folded(changed, judged).goal.iterations) == ((), ())
    assert folded(changed, judged.model_copy(update={"again": None})).goal.iterations, "as old journals have it"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (AddCriterion(criterion=Criterion(id="docs", text="x")), "docs is taken"),
        (DropCriterion(id="goal"), "every contract has the criterion goal"),
        (DropCriterion(id="gate"), "every contract has the criterion gate"),
        (DropCriterion(id="ghost"), "there is no criterion 'ghost'; the criteria: goal, gate, docs"),
        (Configure(settings={"contract": []}), "the contract was frozen when the run began"),
        (AddCriterion(criterion=Criterion(id="x", text="x")), ""),
        (DropCriterion(id="docs"), ""),
    ],
)
def test_what_makes_no_sense_is_refused(command: Command, said: str) -> None:
    refused = explain_refusal(folded(), command)
    assert said in refused
    assert bool(said) == bool(refused)
