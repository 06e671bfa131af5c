"""A key is one job's at a time, and no run is carried on for ever."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.ci.lease import MAX_HOPS, LeaseRecord, check_key, claim_lease, create_lease, get_job_name
from orchestrator.domain.ids import RunId
from orchestrator.errors import LimitReached, RunLocked, UsageProblem

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
STALE_S = 900.0


def taken(ticket: LeaseRecord, at: datetime = NOON, who: str = "job", max_hops: int | None = None) -> LeaseRecord:
    return claim_lease(ticket, create_lease(who, at, STALE_S), at, max_hops)


def test_a_job_that_was_heard_of_lately_keeps_its_key_and_is_named_to_the_other() -> None:
    ticket = taken(LeaseRecord(key="issue-12"), who="https://example.test/runs/7\x1b[31m")
    with pytest.raises(
        RunLocked, match=r"key issue-12 is being worked on by https://example.test/runs/7.*12:15:00 UTC"
    ):
        taken(ticket, NOON + timedelta(seconds=STALE_S - 1))


def test_a_job_that_was_not_heard_of_for_too_long_loses_its_key_to_the_next() -> None:
    ticket = taken(LeaseRecord(key="k"), who="first")
    late = taken(ticket, NOON + timedelta(seconds=STALE_S), "second")
    assert (late.lease and late.lease.holder, late.hop) == ("second", 2)


def test_a_sign_of_life_keeps_the_key() -> None:
    later = NOON + timedelta(seconds=STALE_S - 1)
    ticket = taken(LeaseRecord(key="k")).renew_lease(later, STALE_S)
    with pytest.raises(RunLocked):
        taken(ticket, NOON + timedelta(seconds=STALE_S + 1))


def test_after_so_many_jobs_no_further_one_begins_unless_somebody_allows_more() -> None:
    ticket = LeaseRecord(key="k", run=RunId("20261120-101705-7f3a"))
    for _ in range(MAX_HOPS):
        assert ticket.has_hops_left
        ticket = taken(ticket).release_lease()
    assert not ticket.has_hops_left
    with pytest.raises(LimitReached, match="has had its 20 jobs"):
        taken(ticket)
    assert taken(ticket, max_hops=21).release_lease().max_hops == 21


def test_a_run_that_has_ended_can_be_asked_for_as_often_as_you_like() -> None:
    ticket = LeaseRecord(key="k", run=RunId("20261120-101705-7f3a"), hop=MAX_HOPS, is_ended=True)
    assert taken(ticket).hop == MAX_HOPS + 1


@given(
    st.lists(st.tuples(st.sampled_from(["claim", "beat", "end"]), st.integers(0, 3), st.integers(0, 1200)), max_size=60)
)
def test_whatever_jobs_do_one_has_the_key_at_a_time_and_no_more_have_it_than_may(
    acts: list[tuple[str, int, int]],
) -> None:
    now, ticket, has, begun = NOON, LeaseRecord(key="k", run=RunId("20261120-101705-7f3a")), {}, 0
    for act, who, pause_s in acts:
        now += timedelta(seconds=pause_s)
        mine = ticket.lease is not None and ticket.lease.token == has.get(who)
        if act == "claim":
            alive = ticket.lease is not None and ticket.lease.until > now
            try:
                ticket = taken(ticket, now, str(who))
            except RunLocked:
                assert alive
            except LimitReached:
                assert begun == MAX_HOPS and not alive
            else:
                assert not alive and ticket.lease is not None
                has[who], begun = ticket.lease.token, begun + 1
        elif mine:
            ticket = ticket.renew_lease(now, STALE_S) if act == "beat" else ticket.release_lease()
        assert ticket.hop == begun <= MAX_HOPS
        assert LeaseRecord.model_validate_json(ticket.model_dump_json()) == ticket


@pytest.mark.parametrize("key", ["issue-12", "a", "Weekly_1.2", "x" * 100])
def test_a_key_that_can_be_part_of_a_ref_is_taken(key: str) -> None:
    assert check_key(key) == key


@pytest.mark.parametrize("key", ["", "a b", "a/b", "..", "a..b", "a.lock", "a.", "-a", "ä", "x" * 101, "a\n", "a@{1}"])
def test_a_key_that_cannot_is_refused_in_words(key: str) -> None:
    with pytest.raises(UsageProblem, match="is no key: letters, digits"):
        check_key(key)


def test_a_job_is_called_what_the_ci_system_calls_it() -> None:
    github = {
        "GITHUB_SERVER_URL": "https://github.test",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_RUN_ID": "7",
        "GITHUB_RUN_ATTEMPT": "2",
    }
    assert get_job_name(github) == "https://github.test/o/r/actions/runs/7/attempts/2"
    assert get_job_name({"CI_JOB_URL": "https://gitlab.test/o/r/-/jobs/9"}) == "https://gitlab.test/o/r/-/jobs/9"
    assert get_job_name({}).startswith("a job on ")
