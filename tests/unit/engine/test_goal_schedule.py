"""The schedule that is kept from look to look says what one derived from all tasks says, after whatever happened."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.config.layers import load_config
from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.event.work import AttemptEnded, VerdictGiven
from orchestrator.domain.fold.record_updates import update_approval
from orchestrator.domain.ids import ROOT_TASK, CommitId, TaskId, build_landing_item, build_unit_id
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.judging.verdict import Verdict, VerdictKind
from orchestrator.domain.ownership.decisions import DecisionDraft, record_decisions
from orchestrator.domain.run.approval import Approval, ApprovalState
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Attempt, EndCause, Exit, Handoff, Task, TaskStatus
from orchestrator.domain.tables.task_index import TaskIndex, TaskTable
from orchestrator.engine.goal.actions import Action, LandTasks, get_action_tasks
from orchestrator.engine.goal.chain_lengths import ChainLengths, compute_chain_lengths
from orchestrator.engine.goal.goal_schedule import GoalSchedule
from orchestrator.engine.goal.schedule import ScheduleLimits, list_due_actions

LEAF_STATUSES = sorted(set(TaskStatus) - {TaskStatus.PLANNING, TaskStatus.WAITING, TaskStatus.DONE})
BRANCH_STATUSES = (TaskStatus.PLANNED, TaskStatus.PLANNING, TaskStatus.WAITING, TaskStatus.WAITING, TaskStatus.DONE)
HOT = "shared.py"


class Story:
    """A run whose tasks come, change and go as `choose` says."""

    def __init__(self, choose: Callable[[int], int]) -> None:
        self.choose = choose
        self.state = RunState()
        self.number = 0
        root = Task(id=ROOT_TASK, parent=None, depth=0, kind="branch", title="", outcome="")
        self.state.tasks[ROOT_TASK] = TaskState(spec=root, status=TaskStatus.WAITING)

    def pick(self, names: list[TaskId]) -> TaskState:
        return self.state.tasks[names[self.choose(len(names))]]

    def go_on(self) -> None:
        steps = (self.create, self.change, self.change, self.change, self.remove, self.ask, self.answer, self.decide)
        (*steps, self.depend_otherwise, self.pause, self.create, self.create)[self.choose(12)]()

    def create(self) -> None:
        names, self.number = list(self.state.tasks), self.number + 1
        parent = self.pick([name for name in names if self.state.tasks[name].spec.kind == "branch"]).spec.id
        leaves = [name for name in names if self.state.tasks[name].spec.kind == "leaf"]
        name, kind = TaskId(f"{parent}/t{self.number}"), ("leaf", "leaf", "branch")[self.choose(3)]
        spec = Task.model_validate({"id": name, "parent": parent, "depth": 1, "kind": kind, "title": "", "outcome": ""})
        changes: dict[str, object] = {"approval": f"plan/{parent}@1"} if self.choose(4) == 0 else {}
        if self.choose(2):
            changes["depends_on"] = (self.pick(names).spec.id,)
        if leaves and self.choose(4) == 0:
            changes["after"] = (self.pick(leaves).spec.id,)
        if self.choose(3) == 0:
            changes["paths"] = (HOT,)
        rival = self.pick(leaves).spec if leaves and self.choose(3) == 0 else spec
        if kind == "leaf" and rival.parent == parent and self.choose(2):
            changes["rival_of"] = rival.rival_of or rival.id
            if rival is not spec and rival.rival_of is None:
                self.put(rival.id, spec=rival.model_copy(update={"rival_of": rival.id}))
        self.state.tasks[name] = TaskState(spec=spec.model_copy(update=changes))

    def put(self, name: TaskId, **changes: object) -> None:
        self.state.tasks[name] = self.state.tasks[name].model_copy(update=changes)

    def change(self) -> None:
        task = self.pick(list(self.state.tasks))
        if task.spec.kind == "branch":
            self.change_branch(task)
        else:
            self.change_leaf(task)

    def change_branch(self, task: TaskState) -> None:
        status = BRANCH_STATUSES[self.choose(len(BRANCH_STATUSES))]
        changes: dict[str, object] = {"status": status, "is_finished": self.choose(3) == 0}
        if status == TaskStatus.PLANNING:
            changes["seen_ends"] = self.state.end_count
        self.put(task.spec.id, **changes)

    def change_leaf(self, task: TaskState) -> None:
        name, status = task.spec.id, LEAF_STATUSES[self.choose(len(LEAF_STATUSES))]
        changes: dict[str, object] = {"status": status, "is_chosen": self.choose(6) == 0}
        if status.is_terminal:
            self.state.end_count += 1
            handoff = Handoff(summary="", concerns=("a doubt",) * self.choose(2))
            changes |= {"end_number": self.state.end_count, "handoff": handoff}
            changes["cause"] = EndCause.NOT_CHOSEN if self.choose(5) == 0 else None
        elif status != TaskStatus.PLANNED and (not task.attempts or self.choose(3) == 0):
            number = len(task.attempts) + 1
            attempt = Attempt(task=name, number=number, mode="fresh", base=CommitId("c"), model="m")
            end = AttemptEnded(task=name, number=number, exit=Exit.FINISHED)
            changes |= {"attempts": (*task.attempts, attempt), "ends": (*task.ends, end)}
            verdict = Verdict(kind=list(VerdictKind)[self.choose(len(VerdictKind))], reasons=("why",))
            given = VerdictGiven(task=name, number=number, verdict=verdict)
            changes["verdicts"] = (*task.verdicts, given) if self.choose(2) else task.verdicts
            if self.choose(3) == 0:
                thrown = UnitEjected(
                    round="r", unit=build_unit_id(name, number), difference=Difference(), conflict=(HOT,)
                )
                self.state.ejections.append(thrown)
                changes["ejections"] = (*task.ejections, thrown)
        self.put(name, **changes)

    def remove(self) -> None:
        index = self.state.task_index
        planned = index.list_with_status(TaskStatus.PLANNED)
        free = [
            name
            for name in planned
            if name != ROOT_TASK and not (index.followers.get(name) or index.children.get(name))
        ]
        if free and (gone := self.pick(free).spec).rival_of is None:
            del self.state.tasks[gone.id]

    def depend_otherwise(self) -> None:
        task, other = self.pick(list(self.state.tasks)), self.pick(list(self.state.tasks))
        self.put(task.spec.id, spec=task.spec.model_copy(update={"depends_on": (other.spec.id,)}))

    def ask(self) -> None:
        task = self.pick(list(self.state.tasks))
        subject, matter = ((task.unit, "landing"), (f"{task.spec.id}/3", "tier"))[self.choose(2)]
        item = build_landing_item(task.unit) if matter == "landing" else f"tier/{subject}"
        asked = {"item": item, "matter": matter, "subject": subject, "title": "", "detail": ()}
        number = len(self.state.approvals) + 1
        self.state.approvals[item] = ApprovalState(approval=Approval.model_validate(asked), number=number)

    def answer(self) -> None:
        items = list(self.state.approvals)
        if items:
            decision = ("approve", "reject", "send-back")[self.choose(3)]
            update_approval(self.state, items[self.choose(len(items))], decision=decision, by="anna")

    def decide(self) -> None:
        owner, text = self.pick(list(self.state.tasks)).spec.id, f"text {self.choose(2)}"
        draft = DecisionDraft(id=f"d{self.choose(2)}", text=text)
        self.state.register = record_decisions(self.state.register, owner, (draft,))

    def pause(self) -> None:
        self.state.user_pause = None if self.state.user_pause else "anna"
        self.state.is_draining = self.choose(4) == 0


def describe_index(index: TaskIndex, names: TaskTable) -> object:
    """Return all that an index says, in an order of its own."""
    groups = [
        {key: sorted(found) for key, found in group.items() if found}
        for group in (index.followers, index.rivals, index.asked)
    ]
    children = {key: list(found) for key, found in index.children.items() if found}
    counts = [(index.count_live_children(name), index.count_landed_below(name)) for name in names]
    statuses = [index.list_with_status(status) for status in TaskStatus]
    return groups, children, counts, statuses, index.sort_by_place(names), index.list_granted()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_what_is_kept_equals_what_is_derived_anew_after_any_sequence_of_changes(seed: int, looks: int) -> None:
    chance = Random(seed)
    story, busy, now_s = Story(chance.randrange), list[Action](), 0.0
    table = story.state.tasks
    assert isinstance(table, TaskTable)
    kept = GoalSchedule(story.state)
    verifier = load_config(
        None, {"roles": {"verifier": {"model": "m", "when": "always"}}}, environ={}
    ).config.roles.verifier
    for _ in range(looks):
        for _ in range(chance.randrange(4)):
            story.go_on()
        now_s += chance.randrange(8)
        bounds = ScheduleLimits(chance.randrange(6), 2, freeze_after=2, max_planners=chance.randrange(1, 4))
        bounds = replace(bounds, finish_only=chance.randrange(8) == 0, verifier=verifier)
        busy = [one for one in busy if table.keys() >= set(get_action_tasks(one)) and chance.randrange(3)]
        due = kept.list_due_actions(bounds, frozenset(busy), now_s, 10)
        told = replace(bounds, woken=kept.woken_planners, chain_lengths=compute_chain_lengths(story.state))
        assert due == list_due_actions(story.state, told, frozenset(busy))
        assert describe_index(table.task_index, table) == describe_index(TaskIndex(table), table)
        busy += [one for one in due if not isinstance(one, LandTasks)]


def test_only_chains_that_a_new_task_makes_longer_are_measured_again() -> None:
    state = RunState()
    specs = [("a", ()), ("b", ("a",)), ("alone", ()), ("c", ("b",))]
    for name, needed in specs[:3]:
        spec = {
            "id": name,
            "parent": None,
            "depth": 1,
            "kind": "leaf",
            "title": "",
            "outcome": "",
            "depends_on": needed,
        }
        state.tasks[TaskId(name)] = TaskState(spec=Task.model_validate(spec))
    chains = ChainLengths(state)
    assert sorted(chains.take_changes(state.tasks)) == ["a", "alone", "b"]
    spec = {"id": "c", "parent": None, "depth": 1, "kind": "leaf", "title": "", "outcome": "", "depends_on": ("b",)}
    state.tasks[TaskId("c")] = TaskState(spec=Task.model_validate(spec))
    assert sorted(chains.take_changes([TaskId("c")])) == ["a", "b", "c"]
    assert chains.lengths == {"a": 3, "b": 2, "c": 1, "alone": 1}
