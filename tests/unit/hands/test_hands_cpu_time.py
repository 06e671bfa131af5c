"""CPU time as samples tell it."""

import pytest

from orchestrator.hands.limits.cpu_time import CpuTimeEstimate, ProcessCpuTime

PARENT = (1, 0.0)


def test_what_a_parent_was_told_counts_once() -> None:
    estimate = CpuTimeEstimate()
    assert estimate.add_sample(
        1.0, {PARENT: ProcessCpuTime(0.1, 0.0), (2, 0.5): ProcessCpuTime(0.4, 0.0, 1.0)}
    ) == pytest.approx(0.5)
    assert estimate.add_sample(2.0, {PARENT: ProcessCpuTime(0.1, 0.9)}) == pytest.approx(1.0)


def test_a_parent_that_is_read_before_its_child_vanishes_owes_nothing_for_long() -> None:
    """A sample is not taken in one moment."""
    estimate = CpuTimeEstimate()
    estimate.add_sample(1.0, {PARENT: ProcessCpuTime(0.0, 0.0), (2, 0.5): ProcessCpuTime(0.4, 0.0)})
    assert estimate.add_sample(2.0, {PARENT: ProcessCpuTime(0.0, 0.0)}) == pytest.approx(0.4)
    assert estimate.add_sample(3.0, {PARENT: ProcessCpuTime(0.0, 0.5)}) == pytest.approx(0.5)


def test_what_vanishes_without_a_trace_still_counts() -> None:
    estimate = CpuTimeEstimate()
    for second in range(1, 4):
        total = estimate.add_sample(
            second, {PARENT: ProcessCpuTime(0.0, 0.0), (second + 1, second - 0.9): ProcessCpuTime(0.9, 0.0)}
        )
    assert total == pytest.approx(2.7)


def test_a_process_that_is_new_stands_for_others_before_it() -> None:
    """Ten a second, of which one is seen, on a processor that they have to themselves or share with as much again."""
    for share in (1.0, 0.5):
        estimate = CpuTimeEstimate()
        for second in range(1, 12):
            new = {(second * 10, second - 0.05): ProcessCpuTime(0.0, 0.0, share)}
            total = estimate.add_sample(second, {PARENT: ProcessCpuTime(0.0, 0.0), **new})
        assert total == pytest.approx(10 * 0.95 * share)
