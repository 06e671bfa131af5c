"""The rules that every submitted plan must obey."""

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from orchestrator.domain.paths.globs import can_overlap, is_glob
from orchestrator.domain.run.plan import EarlierTask, Plan, PlanLimits, Withdrawal, check_plan
from orchestrator.domain.run.task import TaskDraft, TaskStatus

LIMITS = PlanLimits(depth=0, max_depth=3, max_children=5, variants=("strong",), left_usd=Decimal(2), left_tokens=1_000)


LANDED = EarlierTask(key="a", status=TaskStatus.MERGED, has_begun=True, paths=("a.py",))
WAITING = EarlierTask(key="w", status=TaskStatus.PLANNED, paths=("w.py",), depends_on=("a",))
BUSY = EarlierTask(key="r", status=TaskStatus.RUNNING, has_begun=True, paths=("r.py",), decisions=("the format",))
FAILED = EarlierTask(key="f", status=TaskStatus.REJECTED, has_begun=True, paths=("f.py",))


def draft(key: str, **changes: object) -> TaskDraft:
    return TaskDraft.model_validate({"key": key, "title": key, "outcome": f"{key} works"} | changes)


def problems(*drafts: TaskDraft, limits: PlanLimits = LIMITS, taken: tuple[EarlierTask, ...] = ()) -> tuple[str, ...]:
    return check_plan(Plan(rationale="", tasks=drafts), limits, taken)


def test_a_sound_plan_has_no_problem() -> None:
    assert problems(draft("api", paths=["src/api/**"]), draft("ui", paths=["src/ui/**"], depends_on=["api"])) == ()


@pytest.mark.parametrize(
    ("drafts", "said"),
    [
        ((), "holds no task"),
        (tuple(draft(f"t{n}") for n in range(6)), "at most 5"),
        ((draft("a"), draft("a")), "used 2 times"),
        ((draft("A b"),), "not made of 1 to 40 lower-case letters"),
        ((draft("a", depends_on=["ghost"]),), "'ghost', which is not in the plan"),
        ((draft("a", depends_on=["b"]), draft("b", depends_on=["a"])), "in a circle"),
        ((draft("a", decisions=["wire format"]), draft("b", decisions=["wire format"])), "both own the decision"),
        ((draft("a", paths=["src/*.py"]), draft("b", paths=["src/app.py"])), "same files"),
        ((draft("a", paths=["src/**"]), draft("b", paths=["src/x/y.py"])), "same files"),
        ((draft("a", outcome="  "),), "no outcome"),
        ((draft("a", variant="cheap"),), "'cheap'; known: strong"),
        ((draft("a", kind="branch", checks=["true"]),), "`checks`, `regenerate` and `variant` are for leaves"),
        ((draft("a", kind="branch", best_of=2),), "`best_of` is for leaves"),
        ((draft("a", best_of=4),), "'a' has best_of 4: give 1 to 3"),
        ((draft("a", best_of=0),), "'a' has best_of 0: give 1 to 3"),
        ((draft("a", best_of=3, budget_usd=1.0),), "may cost $3"),
        ((draft("a" * 41),), "1 to 40"),
        ((draft("a", paths=["src/**", "!"]),), "'!', which is no glob of files"),
        ((draft("a", paths=["[?-.]"]),), "'[?-.]', which is no glob of files"),
        ((draft("a", grants=["tests/test_a.py", "**"]),), "'a' grants '**': name the files"),
        ((draft("a", grants=["*/*"]),), "'a' grants '*/*': name the files"),
        ((draft("a", grants=["[z-a]"]),), "'a' grants '[z-a]': name the files"),
        ((draft("a", kind="branch", grants=["tests/**"]),), "`grants` are for leaves"),
        ((draft("a", checks=["true", " "]),), "a check that is no command"),
        ((draft("a", checks=["true\0"]),), "a check that is no command"),
        (
            (draft("a", budget_usd=0.0),),
            "has budget_usd 0.0: give more than 0 and at most 1,000,000,000,000, or null",
        ),
        ((draft("a", budget_usd=1e300),), "budget_usd 1e+300"),
        ((draft("a", budget_tokens=-1),), "budget_tokens -1"),
        ((draft("a", budget_usd=1.5), draft("b", budget_usd=1)), "$2.50 together and your slice has $2.00 left"),
        (
            (draft("a", budget_tokens=900), draft("b", budget_tokens=200)),
            "1,100 tokens together and your slice has 1,000",
        ),
    ],
)
def test_a_broken_rule_is_named(drafts: tuple[TaskDraft, ...], said: str) -> None:
    assert any(said in problem for problem in problems(*drafts))


def test_overlapping_paths_are_fine_with_an_order_between_them() -> None:
    chain = (
        draft("a", paths=["src/**"]),
        draft("b", depends_on=["a"]),
        draft("c", paths=["src/app.py"], depends_on=["b"]),
    )
    assert problems(*chain) == ()


def test_a_key_submitted_before_cannot_be_used_again_but_can_be_depended_on() -> None:
    assert any("before" in problem for problem in problems(draft("a"), taken=(LANDED,)))
    assert problems(draft("b", depends_on=["a"]), taken=(LANDED,)) == ()


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("ghost", "there is no task 'ghost' to take back"),
        ("r", "task 'r' is at work: only what has not begun can be taken back"),
        ("a", "task 'a' is merged: only what has not begun can be taken back"),
    ],
)
def test_only_what_has_not_begun_can_be_taken_back(key: str, said: str) -> None:
    plan = Plan(rationale="", tasks=(), cancel=(Withdrawal(key=key, reason="late"),))
    assert check_plan(plan, LIMITS, (LANDED, WAITING, BUSY)) == (said,)
    allowed = Plan(rationale="", tasks=(), cancel=(Withdrawal(key="w", reason="late"),))
    assert check_plan(allowed, LIMITS, (LANDED, WAITING, BUSY)) == ()


@pytest.mark.parametrize(
    ("drafts", "said"),
    [
        ((draft("n", replaces="ghost"),), "replaces 'ghost', which no earlier plan has"),
        ((draft("n", replaces="r"),), "replaces 'r', which is at work: wait for its end"),
        ((draft("n", replaces="a"),), "replaces 'a', which has landed: let it depend on that instead"),
        ((draft("n", replaces="f"), draft("m", replaces="f")), "task 'f' is replaced or taken back more than once"),
        ((draft("n", replaces="f", depends_on=["f"]),), "depends on 'f', which it replaces"),
        ((draft("n", replaces="a2", depends_on=["w2"]),), "depend on each other in a circle"),
    ],
)
def test_a_task_takes_the_place_only_of_what_waits_or_has_failed(drafts: tuple[TaskDraft, ...], said: str) -> None:
    waiting = WAITING.model_copy(update={"key": "w2", "depends_on": ("a2",)})
    known = (LANDED, WAITING, BUSY, FAILED, FAILED.model_copy(update={"key": "a2"}), waiting)
    assert any(said in problem for problem in problems(*drafts, taken=known))
    assert problems(draft("n", replaces="f"), draft("m", replaces="w"), taken=known) == ()


def test_a_new_task_needs_an_order_against_those_under_way_and_owns_none_of_their_decisions() -> None:
    assert any(
        "'n' and 'r' may change the same files" in one for one in problems(draft("n", paths=["r.py"]), taken=(BUSY,))
    )
    assert problems(draft("n", paths=["r.py"], depends_on=["r"]), taken=(BUSY,)) == ()
    assert problems(draft("n", paths=["f.py", "a.py"]), taken=(FAILED, LANDED)) == ()
    assert any("both own the decision" in one for one in problems(draft("n", decisions=["the format"]), taken=(BUSY,)))


def test_a_branch_is_refused_where_no_planner_may_stand_below() -> None:
    deepest = LIMITS.model_copy(update={"depth": 2})
    assert any("make it a leaf" in problem for problem in problems(draft("a", kind="branch"), limits=deepest))
    assert problems(draft("a", kind="branch")) == ()


def test_budgets_that_fit_are_fine_and_dollars_need_known_prices() -> None:
    given = (draft("a", budget_usd=1.25, budget_tokens=600), draft("b", budget_usd=0.75, budget_tokens=400), draft("c"))
    assert problems(*given) == ()
    unpriced = LIMITS.model_copy(update={"has_prices": False})
    assert any("give `budget_tokens`" in problem for problem in problems(*given, limits=unpriced))


def test_a_long_chain_of_dependencies_is_no_problem() -> None:
    wide = PlanLimits(depth=0, max_children=3000)
    drafts = [draft(f"t{n}", depends_on=[f"t{n - 1}"] if n else []) for n in range(1500)]
    assert problems(*drafts, limits=wide) == ()


edges = st.dictionaries(st.sampled_from("abcde"), st.sets(st.sampled_from("abcde")), min_size=1)


@given(edges)
def test_whatever_is_accepted_can_be_put_in_an_order(graph: dict[str, set[str]]) -> None:
    drafts = [draft(key, depends_on=sorted(targets)) for key, targets in graph.items()]
    if problems(*drafts):
        return
    done: set[str] = set()
    while len(done) < len(graph):
        ready = {key for key, targets in graph.items() if targets <= done} - done
        assert ready, "an accepted plan must always have a task that can start"
        done |= ready


PATHS = st.lists(st.sampled_from(["src", "app", "x.py", "y.py", "lib"]), min_size=1, max_size=3).map("/".join)


GLOBS = ("**", "*.py", "src/**", "src/*", "**/x.py", "src/app", "*/x.py", "lib/y.py", "src/**/*.py", "[xy].py")


@given(PATHS, st.sampled_from(GLOBS), st.sampled_from(GLOBS))
def test_two_globs_that_match_one_path_are_seen_to_overlap(path: str, one: str, other: str) -> None:
    matching = [glob for glob in (path, one, other) if GitIgnoreSpec.from_lines([f"/{glob}"]).match_file(path)]
    assert all(can_overlap(left, right) for left in matching for right in matching)


@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")  # of `re`, about sets such as `[[]`
@given(st.text("!#\\/[]*?ab-. \n\0", max_size=8))
def test_what_is_taken_for_a_glob_can_be_matched(text: str) -> None:
    assume(is_glob(text))
    assert GitIgnoreSpec.from_lines([text]).match_file("a") in {True, False}, "and it raises nothing"


@pytest.mark.parametrize(("one", "other"), [("src/*.py", "src/*.js"), ("src/a*", "src/b*"), ("src/**", "lib/**")])
def test_globs_that_no_path_can_match_both_do_not_overlap(one: str, other: str) -> None:
    assert not can_overlap(one, other)
    assert not can_overlap(other, one)
