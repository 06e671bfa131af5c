"""The state is left soon after each landing and every so often, and never for most of the time."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.ci_jobs.state_saver import SaveSchedule


def test_a_landing_is_left_at_once_and_the_rest_after_a_while() -> None:
    cadence = SaveSchedule(every_s=300, heartbeat_s=300, saved_at=0)
    assert cadence.choose_save(10, is_news=True, has_landed=True) == "state"
    assert cadence.choose_save(10, is_news=True, has_landed=False) is None
    assert cadence.choose_save(299, is_news=True, has_landed=False) is None
    assert cadence.choose_save(300, is_news=True, has_landed=False) == "state"


def test_where_nothing_is_new_only_a_sign_of_life_is_left() -> None:
    cadence = SaveSchedule(every_s=60, heartbeat_s=300, saved_at=0)
    assert cadence.choose_save(299, is_news=False, has_landed=False) is None
    assert cadence.choose_save(300, is_news=False, has_landed=False) == "lease"
    cadence.record_save("lease", 300, 301)
    assert cadence.choose_save(600, is_news=False, has_landed=False) is None


@given(
    st.floats(1, 600),
    st.lists(st.tuples(st.floats(0.5, 30), st.booleans(), st.floats(0.1, 400)), min_size=1, max_size=80),
)
def test_saving_takes_a_fifth_of_the_time_at_most_and_signs_of_life_do_not_wait_for_it(
    every_s: float, steps: list[tuple[float, bool, float]]
) -> None:
    now, busy_s, last_beat = 0.0, 0.0, 0.0
    cadence = SaveSchedule(every_s, heartbeat_s=300, saved_at=-every_s)
    for pause_s, has_landed, takes_s in steps:
        now += pause_s
        due = cadence.choose_save(now, is_news=True, has_landed=has_landed)
        assert due is not None or now - last_beat < 300
        begun, now = now, now + (takes_s if due == "state" else 0)
        if due:
            cadence.record_save(due, begun, now)
            last_beat = now
        if due == "state":
            assert busy_s == 0 or busy_s <= begun / 5 + 1e-6
            busy_s += takes_s
