"""The parts of GitHub's answers that are read, and its two kinds of checks on a commit as one list."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from orchestrator.domain.text.encoding import decode_json
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.ports.forge import ForgeCheck

_SHOWN = 500
_PASSED = frozenset({"success", "neutral", "skipped"})
_UNDECIDED = frozenset({None, "action_required", "cancelled", "stale", "startup_failure"})
"""Somebody has to press a button before it begins, or it was cut off and has to be run again: it says nothing of the
commit.
"""


class _Answer(BaseModel):
    """GitHub may add what it likes."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class PullRequestEnd(_Answer):
    """One end of a pull request."""

    ref: str
    sha: str


class Label(_Answer):
    """A label."""

    name: str


class GitHubPullRequest(_Answer):
    """A pull request."""

    number: int
    html_url: str
    title: str
    body: str | None = None
    state: str
    head: PullRequestEnd
    base: PullRequestEnd
    labels: tuple[Label, ...] = ()
    merged_at: str | None = None
    merge_commit_sha: str | None = None

    @property
    def is_open(self) -> bool:
        """True if it waits for somebody."""
        return self.state == "open"


class IssueComment(_Answer):
    """A comment on a pull request."""

    id: int
    body: str | None = None


class RepositoryPermissions(_Answer):
    """The rights of the token's owner in a repository."""

    push: bool = False


class GitHubRepository(_Answer):
    """A repository. Tokens of apps are not told their rights."""

    full_name: str
    default_branch: str
    permissions: RepositoryPermissions | None = None


class MergeResponse(_Answer):
    """The answer to a merge."""

    sha: str


class CheckOutput(_Answer):
    """The report of a check on itself."""

    title: str | None = None
    summary: str | None = None


class CheckRun(_Answer):
    """A check that an app runs on a commit."""

    name: str
    status: str
    conclusion: str | None = None
    html_url: str | None = None
    details_url: str | None = None
    output: CheckOutput = CheckOutput()


class CommitStatus(_Answer):
    """A status that somebody set on a commit."""

    context: str
    state: str
    description: str | None = None
    target_url: str | None = None


def parse_error_message(content: bytes) -> str:
    """Return GitHub's words in an answer that refuses something, with those on single fields; empty without any.

    Whoever shows them has to strip and redact them first.
    """
    try:
        answer = decode_json(content)
    except ValueError:
        return ""
    if not isinstance(answer, dict):
        return ""
    errors = answer.get("errors")
    more = list(map(_format_field, errors)) if isinstance(errors, list) else []
    return "; ".join(filter(None, (str(answer.get("message") or ""), *more)))


def _format_field(error: object) -> str:
    if not isinstance(error, dict):
        return str(error)
    words = (error.get("field"), error.get("message") or error.get("code"))
    return " ".join(str(word) for word in words if word)


def merge_checks(runs: Iterable[CheckRun], statuses: Iterable[CommitStatus]) -> tuple[ForgeCheck, ...]:
    """Check runs of apps and statuses that others set, each by its name; words are stripped to one line."""
    return (*map(_convert_run, runs), *map(_convert_status, statuses))


def _convert_run(run: CheckRun) -> ForgeCheck:
    words = (run.conclusion or run.status, run.output.title, run.output.summary)
    return ForgeCheck(
        name=to_one_line(run.name, _SHOWN),
        state=_state(run),
        summary=to_one_line(": ".join(filter(None, words)), _SHOWN),
        url=to_one_line(run.html_url or run.details_url or ""),
    )


def _state(run: CheckRun) -> str:
    if run.status != "completed" or run.conclusion in _UNDECIDED:
        return "pending"
    if run.conclusion in _PASSED:
        return "passed"
    return "failed"


def _convert_status(status: CommitStatus) -> ForgeCheck:
    return ForgeCheck(
        name=to_one_line(status.context, _SHOWN),
        state="pending" if status.state == "pending" else "passed" if status.state == "success" else "failed",
        summary=to_one_line(": ".join(filter(None, (status.state, status.description))), _SHOWN),
        url=to_one_line(status.target_url or ""),
    )
