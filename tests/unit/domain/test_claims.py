"""What plans claim of others: decisions, files of other slices, and the bounds of their own."""

from collections.abc import Iterable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.ids import ROOT_TASK, TaskId
from orchestrator.domain.ownership.claims import check_claims, find_orders, list_decisions_for
from orchestrator.domain.ownership.decisions import Decision, DecisionDraft, list_contradictions, record_decisions
from orchestrator.domain.paths.globs import is_covered, matches_glob
from orchestrator.domain.run.plan import Plan
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Task, TaskDraft, TaskStatus

API, WEB, STORE = TaskId("api"), TaskId("web"), TaskId("store")


def tree(*tasks: Mapping[str, object], register: Iterable[Decision] = ()) -> RunState:
    """A run with these tasks; a name with a stroke stands below another."""
    state = RunState(register=tuple(register))
    for fields in tasks:
        name = TaskId(str(fields["id"]))
        parent = TaskId(name.rpartition("/")[0] or "root") if name != ROOT_TASK else None
        status = TaskStatus(str(fields.get("status", "planned")))
        own = {key: value for key, value in fields.items() if key != "status"}
        spec = Task.model_validate({"parent": parent, "depth": 1, "kind": "leaf", "title": name, "outcome": "x"} | own)
        state.tasks[name] = TaskState(spec=spec, status=status)
    return state


def plan(*drafts: Mapping[str, object], decisions: Mapping[str, str] | None = None) -> Plan:
    """A plan with these drafts and decisions."""
    tasks = tuple(TaskDraft.model_validate({"title": "t", "outcome": "o"} | dict(one)) for one in drafts)
    decided = tuple(DecisionDraft(id=name, text=text) for name, text in (decisions or {}).items())
    return Plan(rationale="", tasks=tasks, decisions=decided)


ROOT = {"id": "root", "kind": "branch", "status": "waiting"}
SLICES = (
    ROOT,
    {"id": "api", "kind": "branch", "status": "planning"},
    {"id": "web", "kind": "branch", "status": "waiting"},
)


def test_a_task_of_another_slice_under_way_that_may_change_the_same_file_goes_first() -> None:
    state = tree(*SLICES, {"id": "web/page", "paths": ["src/app.py"], "status": "running"})
    wanted = plan({"key": "route", "paths": ["src/**"]}, {"key": "docs", "paths": ["docs/**"]})
    assert check_claims(wanted, state, API) == ()
    assert find_orders(wanted, state, API) == {"route": ("web/page",), "docs": ()}


def test_what_has_ended_and_what_stands_below_the_planner_needs_no_order() -> None:
    state = tree(
        *SLICES,
        {"id": "web/page", "paths": ["src/app.py"], "status": "merged"},
        {"id": "api/own", "paths": ["src/app.py"], "status": "running"},
    )
    assert find_orders(plan({"key": "route", "paths": ["src/app.py"]}), state, API) == {"route": ()}


def test_tasks_that_would_wait_for_each_other_are_refused() -> None:
    state = tree(
        *SLICES,
        {"id": "api/old", "status": "rejected"},
        {"id": "web/page", "paths": ["src/app.py"], "after": ["api/next"]},
        {"id": "api/next", "depends_on": ["api/old"]},
    )
    (problem,) = check_claims(plan({"key": "new", "replaces": "old", "paths": ["src/app.py"]}), state, API)
    assert "would wait for each other" in problem


def test_a_slice_keeps_within_the_paths_of_its_task() -> None:
    state = tree(ROOT, {"id": "api", "kind": "branch", "paths": ["src/api/**", "tests/api"], "status": "planning"})
    inside = plan({"key": "a", "paths": ["src/api/v1/*.py", "tests/api/test_a.py"]}, {"key": "b"})
    assert check_claims(inside, state, API) == ()
    (problem,) = check_claims(plan({"key": "a", "paths": ["src/api/x.py", "src/web/*.py"]}), state, API)
    assert problem.startswith("task 'a' may change src/web/*.py, and your slice is bounded to src/api/**, tests/api:")


def test_a_question_has_one_owner_in_the_whole_run() -> None:
    state = tree(*SLICES, {"id": "web/page", "decisions": ["the date format"], "status": "running"})
    (problem,) = check_claims(plan({"key": "a", "decisions": ["the date format"]}), state, API)
    assert problem == (
        "task 'a' owns the decision 'the date format', which web/page (at work) owns: go by what that decides"
    )


def test_what_somebody_above_or_beside_decided_cannot_be_decided_otherwise() -> None:
    register = record_decisions((), ROOT_TASK, [DecisionDraft(id="dates", text="ISO 8601")])
    register = record_decisions(register, WEB, [DecisionDraft(id="port", text="8080")])
    state = tree(*SLICES, register=register)
    found = check_claims(plan(decisions={"dates": "Unix time", "port": "9090", "name": "x"}), state, API)
    assert [problem.partition(" already")[0] for problem in found] == ["root decided 'dates'", "web decided 'port'"]
    assert check_claims(plan(decisions={"dates": "ISO 8601"}), state, API) == ()
    assert check_claims(plan(decisions={"dates": "Unix time"}), state, ROOT_TASK) == ()


def test_a_contradiction_is_settled_by_the_lowest_planner_above_both_with_a_task() -> None:
    register = record_decisions((), TaskId("api/a"), [DecisionDraft(id="port", text="8080")])
    register = record_decisions(register, TaskId("api/b"), [DecisionDraft(id="port", text="9090")])
    (found,) = list_contradictions(register)
    assert (found.planner, [decision.text for decision in found.decisions]) == (API, ["8080", "9090"])
    state = tree(*SLICES, register=register)
    assert check_claims(plan(), state, ROOT_TASK) == ()
    (problem,) = check_claims(plan({"key": "x"}), state, API)
    assert problem.startswith("'port' was decided in 2 ways (api/a: '8080'; api/b: '9090'): decide it in `decisions`")
    settled = plan({"key": "x", "reconciles": ["port"]}, decisions={"port": "8080"})
    assert check_claims(settled, state, API) == ()
    assert not list(list_contradictions(record_decisions(register, API, settled.decisions)))


def test_a_task_goes_by_what_planners_above_it_and_tasks_near_it_decided() -> None:
    register = record_decisions((), ROOT_TASK, [DecisionDraft(id="dates", text="ISO")])
    register = record_decisions(register, TaskId("web/page"), [DecisionDraft(id="title", text="Shop")])
    register = record_decisions(register, TaskId("web/far"), [DecisionDraft(id="font", text="serif")])
    state = tree(
        *SLICES,
        {"id": "api/a"},
        {"id": "web/page", "paths": ["src/app.py"], "status": "merged"},
        {"id": "web/far", "paths": ["fonts/**"], "status": "merged"},
        register=register,
    )
    assert [one.id for one in list_decisions_for(state, TaskId("api/a"), ["src/**"])] == ["dates", "title"]


owners = st.sampled_from([ROOT_TASK, API, WEB, TaskId("api/a"), TaskId("api/b"), TaskId("web/x")])
words = st.sampled_from(["one", "two", "three"])


@given(st.lists(st.tuples(owners, st.sampled_from(["p", "q"]), words), max_size=12))
def test_whatever_is_decided_one_owner_has_one_word_and_the_highest_word_ends_those_below(
    said: list[tuple[TaskId, str, str]],
) -> None:
    register: tuple[Decision, ...] = ()
    for owner, name, text in said:
        register = record_decisions(register, owner, [DecisionDraft(id=name, text=text)])
    holding = [(one.owner, one.id) for one in register if one.is_in_force]
    assert len(holding) == len(set(holding))
    for contradiction in list_contradictions(register):
        assert len({one.text for one in contradiction.decisions}) > 1
    if said and said[-1][0] == ROOT_TASK:
        assert {one.text for one in register if one.is_in_force and one.id == said[-1][1]} == {said[-1][2]}


parts = st.sampled_from(["a", "b", "*", "**", "a*", "*.py", "x.py"])
globs = st.lists(parts, min_size=1, max_size=4).map("/".join)
paths = st.lists(st.sampled_from(["a", "b", "ab", "x.py"]), min_size=1, max_size=4).map("/".join)


@given(globs, globs, paths)
def test_what_is_covered_matches_nothing_that_the_cover_does_not(inner: str, outer: str, path: str) -> None:
    if is_covered(inner, outer) and matches_glob(inner, path):
        assert matches_glob(outer, path)
