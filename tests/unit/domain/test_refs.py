"""The refs of ours: built and parsed in one module."""

import ast
from pathlib import Path

import pytest

import orchestrator
from orchestrator.domain.ids import RunId, TaskId
from orchestrator.domain.refs import (
    RunRefs,
    build_lease_ref,
    build_pull_request_ref,
    is_own_ref,
    parse_journal_ref,
    parse_pull_request_number,
    parse_run,
)

RUN = RunId("20260101-000000-abcd")
OWN = RunRefs(RUN)
TOP = Path(orchestrator.__file__).parents[1]


def test_refs_of_a_run_have_the_names_they_always_had() -> None:
    prefix = f"refs/orchestrate/{RUN}"
    assert [OWN.prefix, OWN.epoch, OWN.journal, OWN.human] == [
        prefix,
        f"{prefix}/epoch",
        f"{prefix}/journal",
        f"{prefix}/human",
    ]
    assert OWN.build_candidate_ref(TaskId("storage/index"), 2) == f"{prefix}/tasks/storage.index/2"
    assert OWN.build_anchor_ref(TaskId("storage/index"), "2") == f"{prefix}/wip/storage.index/2"
    assert OWN.build_step_anchor_ref("format", "w1") == f"{prefix}/wip/step-format-w1"
    assert OWN.build_wave_ref(3) == f"{prefix}/steps/wave-3"
    assert OWN.build_pull_request_ref("refs/orchestrate/prs/7") == f"{prefix}/prs/7"
    assert build_lease_ref("issue-12") == "refs/orchestrate/ci/issue-12"
    assert build_pull_request_ref(7) == "refs/orchestrate/prs/7"


def test_what_an_import_replaces_is_kept_but_for_anchors() -> None:
    commit = "0123456789abcdef"
    candidate = OWN.build_candidate_ref(TaskId("wip"), 1)
    assert OWN.build_backup_ref(candidate, commit) == f"{OWN.prefix}/before-import/tasks/wip/1/0123456789ab"
    assert OWN.build_backup_ref(OWN.build_anchor_ref(TaskId("a"), "1"), commit) is None


@pytest.mark.parametrize(
    ("ref", "run"),
    [(OWN.journal, RUN), (OWN.epoch, None), ("refs/heads/journal", None), ("refs/orchestrate/a/b/journal", None)],
)
def test_the_run_of_an_archive_is_read_from_its_ref(ref: str, run: str | None) -> None:
    assert parse_journal_ref(ref) == run


@pytest.mark.parametrize(
    ("ref", "number"), [("refs/orchestrate/prs/12", 12), ("refs/orchestrate/prs/x", None), ("refs/heads/12", None)]
)
def test_numbers_of_pull_requests_are_read_from_their_refs(ref: str, number: int | None) -> None:
    assert parse_pull_request_number(ref) == number


def test_whose_a_ref_is() -> None:
    assert (is_own_ref(OWN.epoch), is_own_ref("refs/heads/main"), is_own_ref("refs/orchestrated/x")) == (
        True,
        False,
        False,
    )
    assert (OWN.owns_ref(OWN.epoch), OWN.owns_ref(f"{OWN.prefix}x/epoch")) == (True, False)
    assert (parse_run(OWN.epoch), parse_run("refs/heads/main")) == (RUN, None)


def test_no_other_module_spells_the_name_of_a_ref_of_ours() -> None:
    found = set()
    for package in ("orchestrator", "roles", "worktrees"):
        for file in (TOP / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and str(node.value).startswith("refs/orchestrate"):
                    found.add(str(file.relative_to(TOP)))
    assert found == {"orchestrator/domain/refs.py"}
