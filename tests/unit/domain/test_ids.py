"""Composite ids: what is built is parsed again."""

from orchestrator.domain import ids
from orchestrator.domain.ids import AttemptRef, RunId, TaskId
from orchestrator.domain.refs import RunRefs, parse_run, shorten_ref

TASK = TaskId("storage/index")


def test_a_unit_names_its_attempt_and_a_file_of_a_migration_names_none() -> None:
    assert ids.parse_unit_id(ids.build_unit_id(TASK, 2)) == AttemptRef(TASK, 2)
    assert ids.parse_unit_id("src/app.py") is None
    assert ids.parse_unit_id("icons/logo@2x.png") is None


def test_sessions_name_their_role_and_reviews_their_lens() -> None:
    sessions = (
        ids.build_planning_session_id(TASK, 1, 2),
        ids.build_work_session_id(TASK, 3),
        ids.build_review_session_id(TASK, 3, "security"),
        ids.build_verdict_session_id(1, 2),
    )
    assert [ids.parse_session_role(one) for one in sessions] == ["planner", "worker", "judge", "judge"]
    assert [ids.parse_session_lens(one) for one in sessions] == [None, None, "security", None]
    assert ids.parse_session_lens(ids.build_review_session_id(TASK, 3, ids.FIRST_LENS)) == ids.FIRST_LENS


def test_keys_subjects_and_refs_give_back_their_parts() -> None:
    assert ids.parse_effect_name(ids.build_effect_key("land/4be21aa", 1)) == "land/4be21aa"
    assert ids.parse_check_name(ids.build_check_id("my.tests", "073ae73e")) == "my.tests"
    assert ids.parse_tier_task(ids.build_tier_subject(TASK, 2)) == TASK
    assert ids.parse_progress_topic(ids.build_progress_subject("sample", 1)) == "sample"
    ref = RunRefs(RunId("20261120-131128-ab12")).build_candidate_ref(TASK, 2)
    assert (parse_run(ref), shorten_ref(ref)) == ("20261120-131128-ab12", "tasks/storage.index/2")
    assert ids.is_about_group(ids.build_commit_subject("4be21aa00000ffff", "group-1"))
    assert not ids.is_about_group(ids.build_commit_subject("4be21aa00000ffff"))
