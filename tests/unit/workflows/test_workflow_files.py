"""The workflow files of `init --ci`: what they pin, what each job may do, and that nobody's words become a script."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from orchestrator.errors import UsageProblem
from orchestrator.workflows import MODEL_KEY_SECRET, ForgeKind, RoleModel, WorkflowValues, list_secrets, render_workflow

MODELS = (
    RoleModel("planner", "anthropic/large", secrets=("ANTHROPIC_API_KEY",)),
    RoleModel("worker", "openai/small", key_env="TEAM_KEY", secrets=("TEAM_KEY",)),
    RoleModel("judge", "own/model", api_base="https://models.example/v1"),
)
DECIDED = WorkflowValues("orchestrate==1.0", 19_800, "10", MODELS)
UNKNOWN = WorkflowValues("", 5_400, "2.5", tuple(RoleModel(role) for role in ("planner", "worker", "judge")))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
UNTRUSTED = re.compile(
    r"github\.(?:event\b|head_ref|ref_name|actor|triggering_actor)|inputs\.|steps\.|needs\.|vars\.|secrets\.|env\."
)
"""Contexts in which somebody's words, or a secret, can stand."""
WRITES = {"actions": "write", "contents": "write", "issues": "write", "pull-requests": "write"}


def github(decided: WorkflowValues = DECIDED) -> dict[str, Any]:
    """The parsed file; all scalars are texts, so that `on` is no boolean."""
    return yaml.load(render_workflow("github", decided), Loader=yaml.CBaseLoader)


def steps(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, job in document["jobs"].items():
        for step in job["steps"]:
            yield name, step


def texts(value: Any) -> Iterator[str]:
    """Every text of a document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    else:
        yield str(value)


def test_every_action_is_pinned_to_a_commit_with_its_version_beside_it() -> None:
    uses = [step["uses"] for _, step in steps(github()) if "uses" in step]
    assert len(uses) >= 6
    assert all(PINNED.fullmatch(one) for one in uses)
    for line in render_workflow("github", DECIDED).splitlines():
        if "uses:" in line:
            assert re.search(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line


def test_no_right_holds_for_all_jobs_and_each_job_has_only_what_it_needs() -> None:
    document = github()
    assert document["permissions"] == {}
    rights = {name: job["permissions"] for name, job in document["jobs"].items()}
    assert rights == {
        "work": {"contents": "read"},
        "publish": WRITES,
        "answer": {"actions": "write", "issues": "write"},
    }


@pytest.mark.parametrize("decided", [DECIDED, UNKNOWN])
def test_no_job_holds_both_a_models_key_and_the_right_to_write(decided: WorkflowValues) -> None:
    keys = set(list_secrets(decided.models))
    assert keys
    for name, job in github(decided)["jobs"].items():
        named = set(re.findall(r"secrets\.(\w+)", " ".join(texts(job))))
        may_write = "write" in job["permissions"].values() or "ORCHESTRATE_TOKEN" in named
        assert not (may_write and named & keys), name
        assert name != "work" or named == keys


def test_the_secrets_of_a_job_are_given_to_single_steps_alone() -> None:
    document = github()
    assert not any("secrets." in text for text in texts(document["env"]))
    for job in document["jobs"].values():
        outside = {key: value for key, value in job.items() if key != "steps"}
        assert not any("secrets." in text for text in texts(outside))


def test_no_expression_stands_in_a_script() -> None:
    scripts = [step["run"] for _, step in steps(github()) if "run" in step]
    assert len(scripts) >= 10
    assert not [script for script in scripts if "${{" in script]


def test_words_of_strangers_reach_no_variable_either_but_by_name() -> None:
    """Numbers and logins of the event may; titles, bodies and comments are read from the event's file by `ci event`."""
    given = {text for _, step in steps(github()) for text in texts(step.get("env", {})) if "github.event" in text}
    assert given == {"${{ github.event.sender.login }}", "${{ github.event.issue.number }}"}


def test_no_job_checks_out_what_somebody_proposes() -> None:
    document = github()
    assert not {"pull_request", "pull_request_target", "workflow_run"} & set(document["on"])
    for _, step in steps(document):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert set(step["with"]) <= {"fetch-depth", "persist-credentials", "token"}
            assert step["with"]["fetch-depth"] == "0"


def test_the_job_with_the_key_leaves_no_token_in_its_clone() -> None:
    found = [step for name, step in steps(github()) if name == "work" and "checkout" in step.get("uses", "")]
    assert [step["with"]["persist-credentials"] for step in found] == ["false"]


@pytest.mark.parametrize(
    ("limit_s", "minutes", "told"), [(19_800, "340", "5h30m"), (5_400, "100", "1h30m"), (90, "12", "1m")]
)
def test_a_job_may_take_ten_minutes_more_than_the_work(limit_s: int, minutes: str, told: str) -> None:
    document = github(WorkflowValues("x", limit_s, "1", MODELS))
    assert document["jobs"]["work"]["timeout-minutes"] == minutes
    assert document["on"]["workflow_dispatch"]["inputs"]["time_limit"]["default"] == told
    assert all("timeout-minutes" in job for job in document["jobs"].values())


def test_runs_for_an_issue_wait_for_each_other_and_none_is_cut_off() -> None:
    concurrency = github()["concurrency"]
    assert concurrency["cancel-in-progress"] == "false"
    assert "github.event.issue.number || inputs.issue" in concurrency["group"]


def test_comments_count_only_of_people_who_belong_to_the_repository_and_on_issues() -> None:
    document = github()
    for name in ("work", "answer"):
        condition = " ".join(document["jobs"][name]["if"].split())
        assert "!github.event.issue.pull_request" in condition
        assert (
            """contains(fromJSON('["OWNER", "MEMBER", "COLLABORATOR"]'), github.event.comment.author_association)"""
            in condition
        )
        first = document["jobs"][name]["steps"][0]
        assert "collaborators/$WHO/permission" in first["run"], "and the forge is asked for the right itself"


@pytest.mark.parametrize("forge", ["github", "gitlab"])
@pytest.mark.parametrize("decided", [DECIDED, UNKNOWN])
def test_nothing_is_left_to_be_filled_in(forge: ForgeKind, decided: WorkflowValues) -> None:
    text = render_workflow(forge, decided)
    assert not re.search(r"@[a-z_]+@", text)
    assert max(map(len, text.splitlines())) <= 130


def test_models_and_their_keys_go_along_by_name() -> None:
    env = next(step["env"] for _, step in steps(github()) if step.get("id") == "work")
    assert env["ORCHESTRATE__ROLES__PLANNER__MODEL"] == "anthropic/large"
    assert env["ORCHESTRATE__ROLES__WORKER__API_KEY_ENV"] == "TEAM_KEY"
    assert env["ORCHESTRATE__ROLES__JUDGE__API_BASE"] == "https://models.example/v1"
    assert env["TEAM_KEY"] == "${{ secrets.TEAM_KEY }}"
    assert env["ANTHROPIC_API_KEY"] == "${{ secrets.ANTHROPIC_API_KEY }}"


def test_models_that_nobody_has_named_are_variables_of_the_repository() -> None:
    env = next(step["env"] for _, step in steps(github(UNKNOWN)) if step.get("id") == "work")
    assert env["ORCHESTRATE__ROLES__WORKER__MODEL"] == "${{ vars.ORCHESTRATE_MODEL }}"
    assert env["ORCHESTRATE__ROLES__WORKER__API_KEY_ENV"] == MODEL_KEY_SECRET
    assert env[MODEL_KEY_SECRET] == "${{ secrets.ORCHESTRATE_MODEL_KEY }}"


LINES = st.text(st.characters(blacklist_categories=("Cs", "Cc"))).filter(lambda text: "${{" not in text)


@settings(max_examples=25, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(LINES, LINES)
@example('"\\', "\U00010000\u2028\ufeff\x7f: #")
def test_any_name_stays_a_value(package: str, model: str) -> None:
    decided = WorkflowValues(package, 600, "1", (RoleModel("planner", model), RoleModel("worker"), RoleModel("judge")))
    document = github(decided)
    assert document["env"]["ORCHESTRATE_PACKAGE"] == package
    env = next(step["env"] for _, step in steps(document) if step.get("id") == "work")
    assert env["ORCHESTRATE__ROLES__PLANNER__MODEL"] == (model or "${{ vars.ORCHESTRATE_MODEL }}")
    lab = yaml.load(render_workflow("gitlab", decided), Loader=yaml.CSafeLoader)
    assert lab[".orchestrate"]["variables"]["ORCHESTRATE_PACKAGE"] == package.replace("$", "$$")


def test_a_value_that_github_would_take_for_an_expression_is_refused() -> None:
    with pytest.raises(UsageProblem, match="expression"):
        render_workflow("github", WorkflowValues("x${{ secrets.ALL }}", 600, "1", MODELS))


def gitlab() -> dict[str, Any]:
    return yaml.safe_load(render_workflow("gitlab", DECIDED))


def test_gitlabs_jobs_have_environments_of_their_own_for_their_secrets() -> None:
    document = gitlab()
    work, publish = document["orchestrate-work"], document["orchestrate-publish"]
    assert (work["environment"]["name"], publish["environment"]["name"]) == ("orchestrate/work", "orchestrate/publish")
    assert "ORCHESTRATE_TOKEN" not in " ".join(texts(work))
    assert not any(name in " ".join(texts(publish)) for name in ("API_KEY", "__MODEL"))
    assert publish["needs"] == ["orchestrate-work"]


def test_gitlabs_jobs_are_neither_cut_off_nor_run_beside_each_other() -> None:
    document = gitlab()
    shared = document[".orchestrate"]
    assert shared["interruptible"] is False
    assert shared["resource_group"]
    assert document["orchestrate-work"]["timeout"] == "340 minutes"
    sources = " ".join(rule["if"] for rule in shared["rules"])
    assert "merge_request_event" not in sources
    assert all(source in sources for source in ("trigger", "schedule", "web"))
