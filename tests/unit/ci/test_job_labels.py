"""What a run is labelled by itself that a job of a CI system begins."""

import pytest

from orchestrator.ci.job_labels import build_job_labels


@pytest.mark.parametrize(
    ("environ", "labels"),
    [
        ({}, {}),
        ({"CI": "true"}, {"ci": "other"}),
        (
            {"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main"},
            {"ci": "github", "ref": "main"},
        ),
        (
            {
                "GITHUB_ACTIONS": "true",
                "GITHUB_REF": "refs/pull/12/merge",
                "GITHUB_REF_NAME": "12/merge",
                "GITHUB_HEAD_REF": "fix",
            },
            {"ci": "github", "ref": "fix", "pr": "12"},
        ),
        (
            {"GITHUB_ACTIONS": "true", "FORGEJO_ACTIONS": "true", "GITHUB_REF_NAME": "main"},
            {"ci": "forgejo", "ref": "main"},
        ),
        (
            {"GITLAB_CI": "true", "CI_COMMIT_REF_NAME": "docs", "CI_MERGE_REQUEST_IID": "7"},
            {"ci": "gitlab", "ref": "docs", "pr": "7"},
        ),
        (
            {"BUILDKITE": "true", "BUILDKITE_BRANCH": "main", "BUILDKITE_PULL_REQUEST": "false"},
            {"ci": "buildkite", "ref": "main"},
        ),
        ({"JENKINS_URL": "u", "BRANCH_NAME": "PR-3", "CHANGE_ID": "3"}, {"ci": "jenkins", "ref": "PR-3", "pr": "3"}),
    ],
)
def test_the_system_the_ref_and_the_pull_request_are_told_as_far_as_it_tells(
    environ: dict[str, str], labels: dict[str, str]
) -> None:
    assert build_job_labels(environ) == labels


def test_a_ref_of_another_system_is_one_short_line() -> None:
    labels = build_job_labels({"GITLAB_CI": "true", "CI_COMMIT_REF_NAME": "a\nb" + "x" * 500})
    assert "\n" not in labels["ref"]
    assert len(labels["ref"]) <= 200
