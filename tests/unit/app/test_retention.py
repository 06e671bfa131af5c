"""Which runs are past retention: a pure function of their ages and their order."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.model import GcSettings
from orchestrator.domain.ids import RunId
from orchestrator.retention.policy import select_expired_runs

NOW = datetime(2026, 1, 1, tzinfo=UTC)
Ends = list[tuple[RunId, datetime | None]]

ages = st.one_of(st.none(), st.integers(0, 100).map(lambda days: NOW - timedelta(days=days, hours=1)))
runs = st.lists(ages, max_size=12).map(lambda found: [(RunId(f"run-{n}"), at) for n, at in enumerate(found)])
limits = st.integers(0, 90)


@given(runs)
def test_without_limits_everything_is_kept(ends: Ends) -> None:
    assert select_expired_runs(ends, NOW, GcSettings(keep_days=0, keep_runs=0)) == set()


@given(runs, limits)
def test_by_age_a_run_goes_exactly_when_it_is_known_to_be_older(ends: Ends, days: int) -> None:
    gone = select_expired_runs(ends, NOW, GcSettings(keep_days=days + 1, keep_runs=0))
    assert gone == {run for run, at in ends if at is not None and NOW - at > timedelta(days=days + 1)}


@given(runs, st.integers(1, 15))
def test_by_number_all_but_the_newest_go(ends: Ends, count: int) -> None:
    gone = select_expired_runs(ends, NOW, GcSettings(keep_days=0, keep_runs=count))
    assert gone == {run for run, _ in ends} - {run for run, _ in ends[-count:]}


@given(runs, limits, limits)
def test_either_limit_is_enough(ends: Ends, days: int, count: int) -> None:
    def gone(**limits: int) -> set[RunId]:
        return select_expired_runs(ends, NOW, GcSettings(**{"keep_days": 0, "keep_runs": 0, **limits}))

    assert gone(keep_days=days, keep_runs=count) == gone(keep_days=days) | gone(keep_runs=count)
