"""`doctor --ci`: check what a CI job has and lacks, by its variables and the clone, without asking a service."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from orchestrator.doctor.finding import DoctorFinding
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.llm.litellm_adapter.credentials import get_key_variable
from orchestrator.project.options import ProjectContext
from roles.configured_models import iterate_configured_models
from worktrees.errors import GitError
from worktrees.object_store.merge import COMMIT_AUTHOR
from worktrees.repositories.configuration import has_setting
from worktrees.repositories.repository import GitRepository

_TOKENS = ("ORCHESTRATE_TOKEN", "GITHUB_TOKEN", "GH_TOKEN")
_SUDO_S = 5.0
_MOST_BYTES = 1024 * 1024
_FOREIGN_EVENTS = frozenset({"pull_request_target", "workflow_run"})
_FOREIGN_TRIGGER = compile_lazily(r"^[^#\n]*\b(pull_request_target|workflow_run)\b", re.MULTILINE)
_STARTS_US = compile_lazily(r"^[^#\n]*\borchestrate\s+(?:ci|run|resume|migrate)\b", re.MULTILINE)
_NAMESPACES = (
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("user.max_user_namespaces", "0", "10000"),
)
"""Switches of the kernel, with the value that keeps users from making namespaces, and a better one."""


def check_ci_job(
    project: ProjectContext, environ: Mapping[str, str] = os.environ, system: Path = Path("/")
) -> list[DoctorFinding]:
    """Yield a finding for everything that can be known offline. Blocks.

    Args:
        project: the clone and its configuration.
        environ: the job's variables.
        system: where `/proc` lies.
    """
    repository = project.repository
    return [
        _check_system(environ),
        *_check_event(environ),
        *_check_workflows(repository.root),
        _check_history(repository),
        _check_keys(project, environ),
        _check_token(project, environ),
        _check_separation(project, environ),
        _describe_identity(project),
        _check_namespaces(system),
        _check_sudo(environ),
        _check_outputs(environ),
    ]


def _check_system(environ: Mapping[str, str]) -> DoctorFinding:
    if environ.get("GITHUB_ACTIONS") == "true":
        workflow = environ.get("GITHUB_WORKFLOW", "a workflow without a name")
        return DoctorFinding("ci", True, f"GitHub Actions, {workflow}")
    if environ.get("GITLAB_CI"):
        return DoctorFinding("ci", True, f"GitLab CI, {environ.get('CI_JOB_NAME', 'a job without a name')}")
    text = "neither GitHub Actions nor GitLab CI, by the variables: what they would tell is not known here"
    return DoctorFinding("ci", False, text, is_warning=True)


def _check_event(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    name = environ.get("GITHUB_EVENT_NAME") or environ.get("CI_PIPELINE_SOURCE", "")
    if name in _FOREIGN_EVENTS:
        yield DoctorFinding(
            "event",
            False,
            f"{name} gives this job your secrets and a stranger's words, and often their code: start runs by hand, by "
            "a label or by a comment (orchestrate init --ci github)",
        )
    elif name == "pull_request":
        text = "pull_request: of a fork it has no secrets, so no model can be called; and what it checks out is theirs"
        yield DoctorFinding("event", False, text, is_warning=True)
    elif name:
        yield DoctorFinding("event", True, name)


def _check_workflows(root: Path) -> Iterator[DoctorFinding]:
    """Check for workflow files that would run us on what strangers send."""
    for file in sorted((root / ".github" / "workflows").glob("*.y*ml")):
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        found = _FOREIGN_TRIGGER.search(text)
        if found and _STARTS_US.search(text):
            text = f"{file.name} starts a run by {found[1]}, which anybody can cause: remove that trigger"
            yield DoctorFinding("workflow", False, text)


def _check_history(repository: GitRepository) -> DoctorFinding:
    if (repository.common_dir / "shallow").exists():
        text = (
            "the clone is shallow: `ci run` fetches from its remote what it misses; with --handover it cannot, nor can "
            "a run be exported: fetch-depth: 0 of actions/checkout, GIT_DEPTH: 0 of GitLab, or git fetch --unshallow"
        )
        return DoctorFinding("history", False, text, is_warning=True)
    return DoctorFinding("history", True, "the clone has all of it")


def _check_keys(project: ProjectContext, environ: Mapping[str, str]) -> DoctorFinding:
    """Check that the variables for the models' keys are set. Only a call would tell if their values are good."""
    names = _list_key_names(project)
    missing = sorted(names.difference(_list_set_names(names, environ)))
    if missing:
        is_empty = any(name in environ for name in missing)
        why = "; one that is empty is a secret that does not exist, or that this event does not get" * is_empty
        text = f"not there: {', '.join(missing)}{why}: set it for this job"
        return DoctorFinding("secrets", False, text, is_warning=not environ.get("CI"))
    if not names:
        return DoctorFinding("secrets", True, "no model that is configured needs a variable of a known name")
    return DoctorFinding("secrets", True, f"there: {', '.join(sorted(names))}")


def _list_key_names(project: ProjectContext) -> set[str]:
    names = set()
    for _, settings in iterate_configured_models(project.config.roles):
        if settings.model and settings.api_key_env:
            names.add(settings.api_key_env)
        elif settings.model and not settings.api_base:
            names.add(get_key_variable(settings.model))
    return names - {""}


def _list_set_names(names: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """Return the names of variables that are there and not blank."""
    return [name for name in names if environ.get(name, "").strip()]


def _check_token(project: ProjectContext, environ: Mapping[str, str]) -> DoctorFinding:
    """Check the kind of the token, by how it begins, and if its pull requests start workflows."""
    names = _list_set_names(_TOKENS, environ)
    if not names:
        text = "none here: nothing is pushed and no pull request is opened by this job"
        return DoctorFinding("token", True, f"{text} (orchestrate ci publish needs one)")
    name = names[0]
    kind, starts = _describe_token(environ[name].strip())
    if starts is None:
        text = (
            f"{name} is {kind}. If it is the workflow's own, pull requests that it opens start no workflow, so checks "
            "that are required stay pending for ever: give one of an app or a person (secret ORCHESTRATE_TOKEN)"
        )
        return DoctorFinding("token", False, text, is_warning=True)
    return DoctorFinding("token", True, f"{name} is {kind}: {starts}")


def _describe_token(token: str) -> tuple[str, str | None]:
    """Return what a token is, and a note on its pull requests; None if the token does not show it."""
    starting = "pull requests that it opens start workflows"
    kinds: tuple[tuple[str, str, str | None], ...] = (
        ("ghs_", "an app's, as the workflow's own is", None),
        ("github_pat_", "a person's, for chosen repositories", starting),
        ("ghp_", "a person's, for all repositories that they reach; one for this repository alone is safer", starting),
        ("gho_", "a person's, through an application", starting),
        ("ghu_", "a person's, through an app", starting),
        ("glpat-", "a person's, a group's or a project's at GitLab", "merge requests that it opens start pipelines"),
        ("glcbt-", "the job's own at GitLab", "it may not open merge requests: give a project access token"),
    )
    for start, kind, text in kinds:
        if token.startswith(start):
            return kind, text
    return "of a kind that is not known here", "whether its pull requests start workflows is not known"


def _check_separation(project: ProjectContext, environ: Mapping[str, str]) -> DoctorFinding:
    """Check that the right to write does not lie beside the model's key."""
    has_key = bool(_list_set_names(_list_key_names(project), environ))
    tokens = _list_set_names(_TOKENS, environ)
    if has_key and tokens:
        text = f"the models' key and {', '.join(tokens)} are in one job: let one job work and another publish"
        return DoctorFinding("separation", False, text, is_warning=True)
    if has_key and _has_checkout_token(project):
        text = "actions/checkout left its token in the clone's configuration, beside the models' key"
        text = f"{text}: persist-credentials: false"
        return DoctorFinding("separation", False, text, is_warning=True)
    return DoctorFinding("separation", True, "the models' key and the right to write are not seen in one job")


def _has_checkout_token(project: ProjectContext) -> bool:
    with suppress(GitError):
        return has_setting(project.repository.common_dir, "http", "extraheader")
    return False


def _describe_identity(project: ProjectContext) -> DoctorFinding:
    name, email = COMMIT_AUTHOR
    if project.config.commits.name:
        name, email = project.config.commits.name, project.config.commits.email
    text = f"commits are {name} <{email}>'s: git's user.name and user.email do not matter"
    return DoctorFinding("identity", True, text)


def _check_namespaces(system: Path) -> DoctorFinding:
    """Give a hint on user namespaces; only trying the sandbox shows if it holds."""
    for key, value, better in _NAMESPACES:
        switch = system / "proc/sys" / key.replace(".", "/")
        if switch.is_file() and switch.read_text(encoding="ascii", errors="replace").strip() == value:
            text = f"{key} is {value}, which keeps bubblewrap from working: sudo sysctl -w {key}={better}"
            return DoctorFinding("namespaces", False, text, is_warning=True)
    return DoctorFinding("namespaces", True, "the kernel does not forbid those of users")


def _check_sudo(environ: Mapping[str, str]) -> DoctorFinding:
    """Check for sudo on CI systems only: anywhere else, a wrong try is reported to an administrator."""
    program = shutil.which("sudo", path=environ.get("PATH"))
    if not environ.get("CI") or program is None:
        return DoctorFinding("sudo", True, "not there" if environ.get("CI") else "not tried outside CI")
    result = subprocess.run([program, "-n", "true"], capture_output=True, timeout=_SUDO_S, check=False)
    if result.returncode:
        return DoctorFinding("sudo", True, "needs a password")
    text = "without a password; commands of workers cannot use it, since the sandbox gains no rights"
    return DoctorFinding("sudo", True, text)


def _check_outputs(environ: Mapping[str, str]) -> DoctorFinding:
    names = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
    if environ.get("GITHUB_ACTIONS") == "true" and (missing := [name for name in names if not environ.get(name)]):
        text = f"{', '.join(missing)} not set: the next steps will not know how it went"
        return DoctorFinding("outputs", False, text)
    found = ", ".join(filter(environ.get, names))
    return DoctorFinding("outputs", True, found or "none: only the exit code")
