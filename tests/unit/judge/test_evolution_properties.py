"""Whatever honest way a test file is rearranged in, its tests are found again; whatever case is lost is noticed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.judging.check import TestOutcome as Outcome
from orchestrator.judge.evolution.fates import trace_tests
from orchestrator.judge.evolution.test_evolution import TestEvolution
from orchestrator.judge.gate.changed_test_ids import exclude_evolved_tests
from orchestrator.judge.gate.difference import compare_outcomes
from tests.unit.judge.changes import changed

HEAD = "import unittest\n\nimport pytest\nfrom shop import total\n\n\n"
OLD, NEW = "tests/test_old.py", "tests/unit/test_new.py"
CASES = st.lists(st.integers(0, 99), min_size=1, max_size=6, unique=True)
WAYS = st.sampled_from(["functions", "table", "class"])


def write_tests(cases: list[int], way: str, prefix: str) -> tuple[str, list[str]]:
    """A test file with one test for each case, in one of the ways to write it; and the names of its tests."""
    if way == "table":
        values = ", ".join(f"({case}, {case * 2})" for case in cases)
        mark = f"@pytest.mark.parametrize(('price', 'sum'), [{values}])\n"
        text = f"{mark}def test_{prefix}(price, sum):\n    assert total(price) == sum\n"
        return HEAD + text, [f"::test_{prefix}[{case}-{case * 2}]" for case in cases]
    if way == "class":
        lines = [f"    def test_{prefix}_{n}(self):\n        self.assertEqual(total({n}), {n * 2})\n" for n in cases]
        text = f"class {prefix.capitalize()}Test(unittest.TestCase):\n" + "\n".join(lines)
        return HEAD + text, [f".{prefix.capitalize()}Test::test_{prefix}_{case}" for case in cases]
    text = "\n\n".join(f"def test_{prefix}_{case}():\n    assert total({case}) == {case * 2}\n" for case in cases)
    return HEAD + text, [f"::test_{prefix}_{case}" for case in cases]


def list_missing(old: tuple[str, list[str]], new: tuple[str, list[str]], *, is_moved: bool) -> tuple[str, ...]:
    """The tests that are missed after a file became another one."""
    files = [changed(OLD, old[0], new[0])]
    module = "tests.test_old"
    if is_moved:
        files, module = [changed(OLD, old[0], None), changed(NEW, None, new[0])], "tests.unit.test_new"
    before = {f"tests.test_old{name}": Outcome.PASSED for name in old[1]}
    now = {f"{module}{name}": Outcome.PASSED for name in new[1]}
    difference = compare_outcomes(before, 0, now, 0)
    return exclude_evolved_tests(difference, before, now, TestEvolution(files, ())).missing_tests


@settings(max_examples=40, deadline=None)
@given(CASES, WAYS, WAYS, st.randoms(use_true_random=False), st.booleans())
def test_rearranged_tests_are_found_again(cases: list[int], way: str, other: str, order: object, moves: bool) -> None:
    later = [*cases, 100]
    order.shuffle(later)  # type: ignore[attr-defined]
    old, new = write_tests(cases, way, "sum"), write_tests(later, other, "price")
    assert list_missing(old, new, is_moved=moves) == ()
    assert {fate.needs for fate in trace_tests([changed(OLD, old[0], new[0])])} == {None}


@settings(max_examples=40, deadline=None)
@given(CASES, WAYS, WAYS, st.booleans(), st.booleans())
def test_a_lost_case_is_missed_whatever_takes_its_place(
    cases: list[int], way: str, other: str, moves: bool, replaces: bool
) -> None:
    later = [*cases[1:], *[200] * replaces] or [300]
    old, new = write_tests(cases, way, "sum"), write_tests(later, other, "price")
    assert len(list_missing(old, new, is_moved=moves)) >= 1
    needs = [fate.needs for fate in trace_tests([changed(OLD, old[0], new[0])]) if fate.needs]
    assert needs
