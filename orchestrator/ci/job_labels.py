"""Labels of runs that jobs of CI systems begin: the system, the branch or tag, the pull request."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import to_one_line

_VALUE_CHARS = 200
_PULL_REF = compile_lazily(r"refs/pull/([0-9]+)/")
_NUMBER = compile_lazily(r"[0-9]{1,12}\Z")


class CiSystem(NamedTuple):
    """A CI system: the variable that it sets in each job, and those that name the ref and the pull request."""

    name: str
    mark: str
    refs: tuple[str, ...]
    pull_request: str


_SYSTEMS = (
    CiSystem("github", "GITHUB_ACTIONS", ("GITHUB_HEAD_REF", "GITHUB_REF_NAME"), "GITHUB_REF"),
    CiSystem("gitlab", "GITLAB_CI", ("CI_COMMIT_REF_NAME",), "CI_MERGE_REQUEST_IID"),
    CiSystem("forgejo", "FORGEJO_ACTIONS", ("GITHUB_HEAD_REF", "GITHUB_REF_NAME"), "GITHUB_REF"),
    CiSystem("gitea", "GITEA_ACTIONS", ("GITHUB_HEAD_REF", "GITHUB_REF_NAME"), "GITHUB_REF"),
    CiSystem("circleci", "CIRCLECI", ("CIRCLE_BRANCH", "CIRCLE_TAG"), "CIRCLE_PR_NUMBER"),
    CiSystem("buildkite", "BUILDKITE", ("BUILDKITE_BRANCH",), "BUILDKITE_PULL_REQUEST"),
    CiSystem("azure", "TF_BUILD", ("BUILD_SOURCEBRANCHNAME",), "SYSTEM_PULLREQUEST_PULLREQUESTNUMBER"),
    CiSystem("bitbucket", "BITBUCKET_BUILD_NUMBER", ("BITBUCKET_BRANCH", "BITBUCKET_TAG"), "BITBUCKET_PR_ID"),
    CiSystem("jenkins", "JENKINS_URL", ("CHANGE_BRANCH", "BRANCH_NAME"), "CHANGE_ID"),
)
"""Those that copy the variables of another one set a mark of their own, which counts for more."""
_COPIES = {"forgejo", "gitea"}


def build_job_labels(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a run that begins in this environment; none outside of the jobs of CI systems."""
    system = _find_system(environ)
    if system is None:
        return {"ci": "other"} if environ.get("CI") else {}
    labels = {"ci": system.name}
    for name in system.refs:
        if environ.get(name):
            labels["ref"] = to_one_line(environ[name], _VALUE_CHARS)
            break
    if number := _find_pull_request(environ.get(system.pull_request, "")):
        labels["pr"] = number
    return labels


def _find_system(environ: Mapping[str, str]) -> CiSystem | None:
    found = [system for system in _SYSTEMS if environ.get(system.mark)]
    found.sort(key=lambda system: system.name not in _COPIES)
    return found[0] if found else None


def _find_pull_request(value: str) -> str:
    """Return the number that a variable holds, by itself or within `refs/pull/12/merge`; empty if none."""
    within: re.Match[str] | None = _PULL_REF.match(value)
    if within:
        return within[1]
    return value if _NUMBER.match(value) else ""
