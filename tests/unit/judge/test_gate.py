"""What the gate makes of what its checks do: when a tree is tested again, and what that says of it."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from orchestrator.domain.event.run import FlakesSeen, RunStarted
from orchestrator.domain.ids import CommitId, RunId, TreeId
from orchestrator.domain.judging.check import CheckSpec, Receipt, ReceiptStatus, ReportFormat
from orchestrator.domain.judging.check import TestOutcome as Outcome
from orchestrator.domain.purpose import Purpose
from orchestrator.errors import EnvironmentProblem, HostLost
from orchestrator.hands.execution.lost_hosts import MOST_TRIES
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.judge.gate.check_runner import CheckedTree, CheckRunner, build_check_key
from orchestrator.judge.gate.harness import HarnessGate
from orchestrator.ports.gate import GateResult
from orchestrator.ports.hands import CommandEnding
from tests.doubles.hands import LaidDownHands, Run
from tests.doubles.losing_hands import LosingHands

P, F, S = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED
ALL = {"a": P, "b": P, "c": P}
A_RED, B_RED, BOTH_RED = ALL | {"a": F}, ALL | {"b": F}, ALL | {"a": F, "b": F}
TESTS = CheckSpec(id="gate", run="run-the-tests {report}", report=ReportFormat.JUNIT, timeout_s=5)
_TREE = CheckedTree(CommitId("tree"), TreeId("tree"), Purpose("a test"))
COMMAND = CheckSpec(id="gate", run="make check", report=ReportFormat.EXIT_CODE)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path, SystemClock())
    yield opened
    opened.close()


class Gate:
    """A gate with a baseline over hands that do as they are told; commit and tree have the same name."""

    def __init__(self, journal: Journal, spec: CheckSpec, laid_down: Mapping[str, list[Run]]) -> None:
        self.journal, self.spec = journal, spec
        self.hands = LaidDownHands(laid_down)
        self.flakes: list[FlakesSeen] = []
        journal.listeners.append(lambda recorded: self._hear(recorded.event))
        self.gate = HarnessGate(CheckRunner(self.hands, journal, 1_000_000), journal, [spec])

    def _hear(self, event: object) -> None:
        if isinstance(event, FlakesSeen):
            self.flakes.append(event)

    async def begin(self, mode: str = "goal") -> "Gate":
        started = {"run": RunId("r"), "mode": mode, "goal": "", "started_at": datetime(2026, 1, 1, tzinfo=UTC)}
        where = {"repository": "/r", "base": "base", "base_tree": "base", "branch": "b", "target": "main"}
        await self.journal.append(RunStarted.model_validate(started | where | {"settings": {}}))
        await self.gate.record_baseline(CommitId("base"), TreeId("base"))
        return self

    async def judge(self, tree: str, *, reruns: int = 1, fresh: bool = False) -> GateResult:
        return await self.gate.judge_tree(CommitId(tree), TreeId(tree), Purpose("a test"), fresh=fresh, reruns=reruns)


async def gate(journal: Journal, **laid_down: list[Run]) -> Gate:
    return await Gate(journal, TESTS, {"base": [ALL]} | laid_down).begin()


async def test_a_green_tree_is_tested_once_whoever_asks_how_often(journal: Journal) -> None:
    seen = await gate(journal, tree=[ALL])
    results: list[GateResult] = []

    async def ask() -> None:
        results.append(await seen.judge("tree"))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        group.start_soon(ask)
    await ask()
    assert seen.hands.runs["tree"] == 1
    assert [result.cached for result in results] == [False, True, True]
    assert len({result.receipts for result in results}) == 1


async def test_the_workspace_of_a_check_is_for_the_run_that_its_receipt_is_of(journal: Journal) -> None:
    seen = await gate(journal, tree=[ALL])
    result = await seen.judge("tree")
    facts = [purpose.facts for purpose in seen.hands.purposes]
    assert facts[-1].check == result.receipts[0] != facts[0].check
    assert {purpose.text for purpose in seen.hands.purposes} == {"baseline", "a test"}


async def test_a_tree_of_another_name_or_a_check_of_another_definition_is_tested_for_itself(journal: Journal) -> None:
    seen = await gate(journal, tree=[ALL])
    await seen.judge("tree")
    await seen.judge("base")
    for spec in (TESTS, TESTS.model_copy(update={"timeout_s": 6})):
        await seen.gate.run_extra_check(spec, CommitId("tree"), TreeId("tree"), Purpose("a test"))
    assert dict(seen.hands.runs) == {"base": 1, "tree": 2}


async def test_the_same_tree_in_another_environment_is_tested_again(journal: Journal) -> None:
    seen = await gate(journal, tree=[ALL])
    await seen.judge("tree")
    seen.hands.environment_hash = "another"
    await seen.judge("tree")
    assert seen.hands.runs["tree"] == 2


async def test_a_receipt_has_the_hash_of_the_line_in_which_only_drawn_names_differ_from_the_shells(
    journal: Journal,
) -> None:
    seen = await gate(journal, tree=[ALL])
    receipt = journal.state.receipts[(await seen.judge("tree")).receipts[0]]
    assert re.fullmatch(r'run-the-tests "\$[A-Z]+_[A-Z]+_\d\d"', seen.hands.lines[-1])
    assert receipt.argv == hashlib.sha256(b'run-the-tests "$ORCHESTRATE_REPORT"').hexdigest()


async def test_a_test_that_is_red_in_one_run_only_is_flaky_and_the_tree_green(journal: Journal) -> None:
    seen = await gate(journal, tree=[A_RED, ALL])
    result = await seen.judge("tree")
    assert (result.difference.is_green, result.difference.flaky) == (True, ("a",))
    assert len(result.receipts) == 2
    assert journal.state.receipts[result.receipts[-1]].exit_code == 0
    assert seen.flakes == [
        FlakesSeen(check=build_check_key(TESTS), tree=TreeId("tree"), flaky=("a",), receipts=result.receipts[:2])
    ]
    assert journal.state.list_flaky_tests() == [("a", 1)]
    assert await seen.judge("tree") == result.model_copy(update={"cached": True})
    assert seen.hands.runs["tree"] == 2


async def test_a_test_that_is_red_in_every_run_blames_the_change_and_one_that_is_not_does_not(journal: Journal) -> None:
    seen = await gate(journal, tree=[BOTH_RED, A_RED])
    difference = (await seen.judge("tree")).difference
    assert (difference.new_failures, difference.flaky, difference.unsettled) == (("a",), ("b",), ())
    assert seen.hands.runs["tree"] == 2
    assert (await seen.judge("tree")).difference == difference
    assert seen.hands.runs["tree"] == 2, "a tree that is red for good is not tested a third time"


async def test_a_tree_whose_tests_were_each_green_once_and_never_all_at_once_is_unsettled(journal: Journal) -> None:
    seen = await gate(journal, tree=[A_RED, B_RED])
    difference = (await seen.judge("tree")).difference
    assert (difference.is_green, difference.is_unsettled) == (False, True)
    assert (difference.unsettled, difference.new_failures) == (("b",), ())
    assert seen.flakes[0].flaky == ("a", "b")


async def test_tests_that_are_known_as_flaky_from_another_tree_get_one_run_more(journal: Journal) -> None:
    seen = await gate(journal, one=[A_RED, ALL], two=[A_RED, A_RED, ALL], three=[BOTH_RED, BOTH_RED, ALL])
    assert (await seen.judge("one")).difference.is_green
    assert (await seen.judge("two")).difference.is_green
    assert not (await seen.judge("three")).difference.is_green
    assert (seen.hands.runs["two"], seen.hands.runs["three"]) == (3, 2)
    assert journal.state.list_flaky_tests() == [("a", 2)]


@pytest.mark.parametrize(
    "red",
    [
        {f"t{n}": F for n in range(21)} | ALL,
        {"a": F, "b": P},
        ALL | {"a": F, "b": S},
        1,
    ],
    ids=["very many tests", "a missing test as well", "a skipped test as well", "no report"],
)
async def test_what_is_hardly_chance_is_not_tested_again(journal: Journal, red: Run) -> None:
    seen = await gate(journal, tree=[red, ALL])
    assert not (await seen.judge("tree")).difference.is_green
    assert seen.hands.runs["tree"] == 1


async def test_without_reruns_a_tree_is_tested_once(journal: Journal) -> None:
    seen = await gate(journal, one=[A_RED, ALL], tree=[A_RED, ALL])
    await seen.judge("one")
    assert not (await seen.judge("tree", reruns=0)).difference.is_green
    assert seen.hands.runs["tree"] == 1


async def test_the_second_look_of_the_queue_learns_the_same_and_runs_no_more_than_it_did(journal: Journal) -> None:
    seen = await gate(journal, one=[A_RED, ALL], two=[A_RED, B_RED])
    for tree in ("one", "two"):
        for fresh in (False, True):
            result = await seen.judge(tree, reruns=0, fresh=fresh)
        assert seen.hands.runs[tree] == 2
    assert result.difference.unsettled == ("b",)
    assert [(flakes.tree, flakes.flaky) for flakes in seen.flakes] == [("one", ("a",)), ("two", ("a", "b"))]
    assert journal.state.list_flaky_tests() == [("a", 2), ("b", 1)]


async def test_a_third_run_of_a_tree_tells_only_what_is_new(journal: Journal) -> None:
    seen = await gate(journal, tree=[A_RED, ALL, B_RED])
    for _ in range(3):
        await seen.judge("tree", reruns=0, fresh=True)
    assert [flakes.flaky for flakes in seen.flakes] == [("a",), ("b",)]


PASSING = {"m.T::a": P, "m.T::b": P}
RED_A, ONLY_A, ONLY_A_RED = PASSING | {"m.T::a": F}, {"m.T::a": P}, {"m.T::a": F}


async def compare_rates(journal: Journal, **laid_down: list[Run]) -> Gate:
    return await Gate(journal, TESTS, {"base": [PASSING, ONLY_A]} | laid_down).begin()


async def test_a_test_that_is_always_red_and_never_on_the_base_is_looked_at_until_chance_is_excluded(
    journal: Journal,
) -> None:
    seen = await compare_rates(journal, tree=[RED_A, RED_A, ONLY_A_RED])
    result = await seen.judge("tree", reruns=40)
    assert (result.difference.new_failures, result.difference.flaky) == (("m.T::a",), ())
    (looks,) = result.difference.looks
    assert (looks.red, looks.runs, looks.base_red, looks.base_runs) == (5, 5, 0, 4)
    assert dict(seen.hands.runs) == {"tree": 5, "base": 4}
    assert await seen.judge("tree", reruns=40) == result.model_copy(update={"cached": True})
    narrow = [receipt for receipt in journal.state.receipts.values() if receipt.narrows]
    assert {receipt.narrows for receipt in narrow} == {build_check_key(TESTS)}
    assert "-k" in seen.hands.lines[-1]
    assert "(T and a)" in seen.hands.lines[-1]


async def test_what_the_base_has_shown_already_is_not_run_again_for_another_tree(journal: Journal) -> None:
    seen = await compare_rates(journal, one=[RED_A, RED_A, ONLY_A_RED], two=[RED_A, RED_A, ONLY_A_RED])
    for tree in ("one", "two"):
        assert (await seen.judge(tree, reruns=40)).difference.new_failures == ("m.T::a",)
    assert seen.hands.runs["base"] == 4


async def test_a_test_that_is_red_once_in_many_looks_lands_and_is_told_with_its_rates(journal: Journal) -> None:
    seen = await compare_rates(journal, tree=[RED_A, PASSING, ONLY_A])
    result = await seen.judge("tree", reruns=40)
    assert (result.difference.is_green, result.difference.flaky) == (True, ("m.T::a",))
    assert result.difference.looks[0].decision == "innocent"
    assert journal.state.list_flaky_tests() == [("m.T::a", 1)]


async def test_a_test_that_fails_in_company_only_is_judged_by_whole_runs(journal: Journal) -> None:
    seen = await compare_rates(journal, tree=[RED_A, RED_A, *[ONLY_A] * 4, RED_A])
    result = await seen.judge("tree", reruns=40)
    assert result.difference.new_failures == ("m.T::a",)


async def test_where_the_cap_tells_nothing_nobody_is_to_blame_and_nothing_lands(journal: Journal) -> None:
    flips = [run for _ in range(8) for run in (ONLY_A_RED, ONLY_A, ONLY_A)]
    base = [run for _ in range(8) for run in (ONLY_A, ONLY_A, ONLY_A, ONLY_A, ONLY_A_RED)]
    seen = await Gate(journal, TESTS, {"base": [PASSING, *base], "tree": [RED_A, PASSING, *flips]}).begin()
    difference = (await seen.judge("tree", reruns=6)).difference
    assert (difference.is_unsettled, difference.unsettled) == (True, ("m.T::a",))
    assert seen.hands.runs["tree"] == 7


async def test_a_narrow_run_that_lacks_the_test_is_followed_by_whole_ones(journal: Journal) -> None:
    seen = await Gate(journal, TESTS, {"base": [PASSING, 5, PASSING], "tree": [RED_A, RED_A, 5, RED_A]}).begin()
    assert (await seen.judge("tree", reruns=40)).difference.new_failures == ("m.T::a",)
    assert seen.hands.runs["tree"] == 6


async def test_a_check_that_cannot_be_started_twice_is_the_environments_trouble_and_no_red_tree(
    journal: Journal,
) -> None:
    seen = await gate(
        journal,
        once=[CommandEnding.NOT_STARTED, ALL],
        twice=[CommandEnding.NOT_STARTED, CommandEnding.NOT_STARTED, ALL],
    )
    assert (await seen.judge("once")).difference.is_green
    with pytest.raises(EnvironmentProblem, match="could not be started, 2 times in a row: it has no legs"):
        await seen.judge("twice")
    assert (await seen.judge("twice")).difference.is_green, "it may be asked again when that is mended"


async def test_a_check_that_is_late_once_is_run_again_and_the_second_time_it_is_red_and_says_so(
    journal: Journal,
) -> None:
    seen = await gate(journal, once=[CommandEnding.TIMED_OUT, ALL], twice=[CommandEnding.TIMED_OUT])
    assert (await seen.judge("once")).difference.is_green
    assert (await seen.judge("twice")).difference.problems == (
        "the check `gate` did not end within 5 s, 2 times in a row",
    )
    late = [receipt for receipt in journal.state.receipts.values() if receipt.status == ReceiptStatus.TIMED_OUT]
    assert len(late) == 3


async def test_a_command_that_is_red_on_the_base_lets_through_only_what_mends_it(journal: Journal) -> None:
    seen = await Gate(journal, COMMAND, {"base": [3], "mended": [0], "left": [3]}).begin()
    assert "nothing lands unless it makes that 0" in journal.state.notices[0].text
    assert journal.state.notices[0].level == "warning"
    assert (await seen.judge("mended")).difference.fixed == ("(exit code)",)
    assert (await seen.judge("left")).difference.problems == (
        "exits with 3; the gate was red on the base already and tells no tests, so only exit 0 counts",
    )


@pytest.mark.parametrize(
    ("mode", "code", "said"),
    [
        ("goal", 127, "was not found in the sandbox"),
        ("goal", 126, "cannot be executed in the sandbox"),
        ("migration", 3, "exits 3 on the base, before anything changed, and does not tell which tests are red"),
    ],
)
async def test_a_command_that_can_judge_nothing_is_refused(journal: Journal, mode: str, code: int, said: str) -> None:
    with pytest.raises(EnvironmentProblem, match=said):
        await Gate(journal, COMMAND, {"base": [code]}).begin(mode)


async def test_cases_that_are_named_otherwise_in_every_run_of_the_base_are_compared_by_their_number(
    journal: Journal,
) -> None:
    """What a test is called after the time at which it was collected is lost in no change."""
    cases = {
        "base": [{"a": P, "t[1]": P, "t[2]": F}, {"a": P, "t[3]": P, "t[4]": P}],
        "same": [{"a": P, "t[5]": F, "t[6]": P}],
        "red": [{"a": P, "t[5]": F, "t[6]": F}],
        "fewer": [{"a": P, "t[7]": P}],
        "other": [{"a": P, "u[5]": P, "u[6]": P}],
    }
    seen = await Gate(journal, TESTS, cases).begin()
    assert (await seen.judge("other")).difference.missing_tests == ("t[1]", "t[2]")
    assert (await seen.judge("fewer")).difference.missing_tests == ("t[1]", "t[2]")
    assert seen.hands.runs["base"] == 1, "there is nothing to be learnt"
    assert (await seen.judge("same")).difference.is_green
    red = (await seen.judge("red", reruns=0)).difference
    assert (red.new_failures, red.missing_tests) == (("t[*1]",), ())
    assert seen.hands.runs["base"] == 2


async def test_a_case_that_a_change_names_otherwise_is_missing_if_the_base_names_it_the_same_each_time(
    journal: Journal,
) -> None:
    one = {"a": P, "t[1]": P}
    seen = await Gate(journal, TESTS, {"base": [one, one], "renamed": [{"a": P, "t[2]": P}]}).begin()
    for _ in range(2):
        assert (await seen.judge("renamed")).difference.missing_tests == ("t[1]",)
    assert seen.hands.runs["base"] == 2, "once more, and not once more each time"


async def test_a_base_that_runs_fewer_cases_the_second_time_excuses_nothing(journal: Journal) -> None:
    runs = {"base": [{"a": P, "t[1]": P, "t[2]": P}, {"a": P}], "renamed": [{"a": P, "t[3]": P, "t[4]": P}]}
    seen = await Gate(journal, TESTS, runs).begin()
    assert (await seen.judge("renamed")).difference.missing_tests == ("t[1]", "t[2]")


async def test_a_probe_takes_the_first_answer_and_further_looks_run_again_but_those_that_are_known(
    journal: Journal,
) -> None:
    seen = await gate(journal, tree=[A_RED, ALL])

    async def probe(look: int) -> GateResult:
        return await seen.gate.probe_tree(CommitId("tree"), TreeId("tree"), Purpose("a test"), ["a"], look)

    first, known, second, again = [await probe(look) for look in (0, 0, 1, 1)]
    assert [one.difference.new_failures for one in (first, known, second, again)] == [("a",), ("a",), (), ()]
    assert [one.cached for one in (first, known, second, again)] == [False, True, False, True]
    assert seen.hands.runs["tree"] == 2


async def test_a_probe_runs_the_narrow_check_where_there_is_one_and_says_nothing_of_the_rest(journal: Journal) -> None:
    seen = await gate(journal, tree=[BOTH_RED])
    narrow = TESTS.model_copy(update={"run": "run-a {report}"})

    def only_a(_spec: CheckSpec, tests: Sequence[str]) -> CheckSpec | None:
        return narrow if list(tests) == ["a"] else None

    checks = CheckRunner(seen.hands, journal, 1_000_000)
    one = HarnessGate(checks, journal, [TESTS], only_a)
    found = await one.probe_tree(CommitId("tree"), TreeId("tree"), Purpose("a test"), ["a"])
    assert (found.difference.new_failures, found.is_whole) == (("a",), False)
    assert seen.hands.lines[-1].startswith("run-a ")
    whole = await one.probe_tree(CommitId("tree"), TreeId("tree"), Purpose("a test"), ["a", "b"])
    assert (set(whole.difference.new_failures), whole.is_whole) == ({"a", "b"}, True)


@pytest.mark.parametrize("moments", [{2}, {3}, {2, 5}], ids=["at its start", "as it waits", "twice"])
async def test_a_run_whose_host_is_lost_is_made_again(journal: Journal, moments: set[int]) -> None:
    await gate(journal)
    hands = LosingHands(LaidDownHands({"tree": [ALL]}), moments)
    receipt = await CheckRunner(hands, journal, 1_000_000).run_check(TESTS, _TREE)
    assert (receipt.status, len(hands.lost)) == (ReceiptStatus.COMPLETED, len(moments))
    assert (receipt.tree, journal.state.open_intents) == ("tree", {})
    assert len(_list_receipts(journal)) == 1


async def test_a_run_that_loses_host_after_host_is_given_up(journal: Journal) -> None:
    await gate(journal)
    hands = LosingHands(LaidDownHands({"tree": [ALL]}), range(1, 100))
    with pytest.raises(HostLost):
        await CheckRunner(hands, journal, 1_000_000).run_check(TESTS, _TREE)
    assert len(hands.lost) == MOST_TRIES
    assert (_list_receipts(journal), journal.state.open_intents) == ([], {})


def _list_receipts(journal: Journal) -> list[Receipt]:
    """The receipts of the tree that is looked at, without that of the base."""
    return [receipt for receipt in journal.state.receipts.values() if receipt.tree == _TREE.tree]
