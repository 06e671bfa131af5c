"""Pull requests on GitHub. Everything that is written there bears a mark, by which it is found again."""

from collections.abc import Sequence
from functools import partial

import anyio

from orchestrator.domain.ids import CommitId, RunId
from orchestrator.errors import EnvironmentProblem, PersonNeeded
from orchestrator.forge.github import responses
from orchestrator.forge.github.api import GitHubApi
from orchestrator.forge.github.http_client import GitHubRefused, UnknownOutcome
from orchestrator.forge.github.responses import GitHubPullRequest, IssueComment
from orchestrator.forge.markers import add_marker, build_marker, build_run_marker, has_marker, is_same_text
from orchestrator.ports.forge import ForgeCheck, OpenedPullRequest, PullRequest

_EXISTS = "already exists"
_MOVING = "Base branch was modified"
_MOVED_TRIES = 5
_MOVED_S = 1.0


class GitHubForge:
    """A `ports.Forge`: the pull requests of one run in one repository.

    What it did not make is never touched: of a pull request that does not bear this run's mark a person is told.
    """

    name = "github"
    has_checks = True
    moves_local_targets = False

    def __init__(self, api: GitHubApi, run: RunId) -> None:
        self._api = api
        self._run = run

    async def open_pull_request(self, request: PullRequest) -> OpenedPullRequest:
        """Open the pull request, or update the one of the same branch that bears this run's mark.

        One that was closed or merged at this very commit stays as it is.

        Raises:
            PersonNeeded: the branch has a pull request that this run did not open, or GitHub does not take it.
        """
        request = await self._resolve_target(request)
        own = build_marker(self._run, "pr", request.group)
        body = add_marker(request.body, own)
        find, create = partial(self._find_pull_request, request), partial(self._create_pull_request, request, body)
        pull = await self._api.find_or_create(find, create)
        if pull.is_open:
            await self._update(pull, request, body)
        ref = f"{self._api.endpoint.repository}#{pull.number}"
        return OpenedPullRequest(forge=self.name, ref=ref, url=pull.html_url)

    async def list_checks(self, ref: str, commit: CommitId) -> Sequence[ForgeCheck]:
        """Return what apps (check runs) and others (commit statuses) say of this commit."""
        runs = await self._api.list_objects(responses.CheckRun, f"/commits/{commit}/check-runs", within="check_runs")
        statuses = await self._api.list_objects(responses.CommitStatus, f"/commits/{commit}/status", within="statuses")
        return responses.merge_checks(runs, statuses)

    async def merge_pull_request(self, ref: str, commit: CommitId) -> CommitId:
        """Merge the pull request if its head is still this commit; the commit that its target was brought to.

        Raises:
            PersonNeeded: GitHub does not allow it, the head has moved, there is a conflict, or it is not this run's.
        """
        number = self._parse_number(ref)
        for _ in range(_MOVED_TRIES):
            pull = await self._read_pull_request(ref, number)
            if pull.merged_at is not None and pull.head.sha == commit:
                return CommitId(pull.merge_commit_sha or commit)
            _require_mergeable(ref, pull, commit)
            try:
                path = f"/pulls/{number}/merge"
                merged = await self._api.update_object(responses.MergeResponse, "PUT", path, {"sha": commit})
            except GitHubRefused as refused:
                await self._require_passing(ref, number, commit, refused)
            else:
                return CommitId(merged.sha)
        advice = "merge it yourself, or resume the run"
        raise PersonNeeded(f"{ref} was not merged: its target does not keep still; {advice}")

    async def close_pull_request(self, ref: str, comment: str) -> None:
        """Close the pull request unmerged, with a word why, once.

        Raises:
            PersonNeeded: it is not this run's.
        """
        number = self._parse_number(ref)
        pull = await self._read_pull_request(ref, number)
        await GitHubForgeRepository(self._api).upsert_comment(number, build_marker(self._run, "closed"), comment)
        if pull.is_open:
            await self._api.update_object(GitHubPullRequest, "PATCH", f"/pulls/{number}", {"state": "closed"})

    async def _resolve_target(self, request: PullRequest) -> PullRequest:
        """Return where the run knows no branch that it is meant for, it is the repository's own."""
        if request.target:
            return request
        repository = await self._api.read_object(responses.GitHubRepository, "")
        return request.model_copy(update={"target": repository.default_branch})

    async def _find_pull_request(self, request: PullRequest) -> GitHubPullRequest | None:
        """Return this run's pull request of the branch: the open one, else one that ended at the same commit."""
        head = f"{self._api.endpoint.owner}:{request.head}"
        pulls = await self._api.list_objects(GitHubPullRequest, "/pulls", head=head, state="all")
        pulls = [pull for pull in pulls if pull.head.ref == request.head]
        ours = [pull for pull in pulls if has_marker(pull.body, build_run_marker(self._run))]
        for pull in pulls:
            if pull.is_open and pull not in ours:
                raise PersonNeeded(
                    f"{pull.html_url} is open for {request.head} already, and this run did not open it (its text does "
                    f"not begin with {build_run_marker(self._run)}…): close it, or rename its branch; then resume the "
                    "run"
                )
        for pull in ours:
            if pull.is_open:
                return pull
        for pull in ours:
            if pull.head.sha == request.commit:
                return pull
        return None

    async def _create_pull_request(self, request: PullRequest, body: str) -> GitHubPullRequest:
        wanted = {"title": request.title, "head": request.head, "base": request.target, "body": body}
        try:
            return await self._api.create_object(GitHubPullRequest, "/pulls", {**wanted, "draft": request.draft})
        except GitHubRefused as refused:
            if _EXISTS in refused.detail:
                raise UnknownOutcome(refused.detail) from refused
            raise PersonNeeded(
                f"{self._api.endpoint.host} does not open a pull request for {request.head} into {request.target} "
                f"({refused.detail}): mend that, then resume the run"
            ) from refused

    async def _update(self, pull: GitHubPullRequest, request: PullRequest, body: str) -> None:
        """Update title, body and labels. Only a person says when a draft is ready, so it stays one."""
        path = f"/pulls/{pull.number}"
        try:
            if pull.title != request.title or not is_same_text(pull.body, body):
                await self._api.update_object(GitHubPullRequest, "PATCH", path, {"title": request.title, "body": body})
            missing = set(request.labels) - {label.name for label in pull.labels}
            if missing:
                await self._api.send_request("POST", f"/issues/{pull.number}/labels", {"labels": sorted(missing)})
        except GitHubRefused as refused:
            problem = f"{pull.html_url} cannot be updated ({refused.detail})"
            raise PersonNeeded(f"{problem}: mend that, then resume the run") from refused

    async def _read_pull_request(self, ref: str, number: int) -> GitHubPullRequest:
        pull = await self._api.read_object(GitHubPullRequest, f"/pulls/{number}")
        if not has_marker(pull.body, build_run_marker(self._run)):
            problem = "is not this run's: its text does not begin with the run's mark"
            raise PersonNeeded(f"{ref} {problem}; see to it yourself")
        return pull

    async def _require_passing(self, ref: str, number: int, commit: CommitId, refused: GitHubRefused) -> None:
        """Make sure that a refused merge may go through at the next try, or has gone through unheard.

        Raises:
            PersonNeeded: neither.
        """
        if _MOVING in refused.detail:
            await anyio.sleep(_MOVED_S)
            return
        pull = await self._read_pull_request(ref, number)
        if pull.merged_at is None:
            problem = f"{ref} was not merged at {commit[:12]} ({refused.detail})"
            raise PersonNeeded(f"{problem}: see to it at {pull.html_url}, then resume the run") from refused

    def _parse_number(self, ref: str) -> int:
        own_repository = self._api.endpoint.repository
        repository, _, number = ref.rpartition("#")
        if repository != own_repository or not number.isdigit():
            problem = f"{ref} is no pull request of {own_repository}, which [pr] names now"
            raise PersonNeeded(f"{problem}: see to it yourself")
        return int(number)


def _require_mergeable(ref: str, pull: GitHubPullRequest, commit: CommitId) -> None:
    if not pull.is_open:
        raise PersonNeeded(f"{ref} was closed by somebody: reopen it at {pull.html_url}, then resume the run")
    if pull.head.sha != commit:
        raise PersonNeeded(
            f"{ref} has moved to {pull.head.sha[:12]}, which this run did not judge: look at what was added at "
            f"{pull.html_url}, and take it away or merge it yourself"
        )


class GitHubForgeRepository:
    """A `ports.ForgeRepository` on GitHub.

    Every method raises:
        EnvironmentProblem: the token or the repository does not do.
        ProviderDown: GitHub stays down.
    """

    def __init__(self, api: GitHubApi) -> None:
        self._api = api

    async def describe_access(self) -> str:
        """Return which repository can be written to, and by which token."""
        found, variable = await self._api.read_object(responses.GitHubRepository, ""), self._api.endpoint.token_variable
        if found.permissions and not found.permissions.push:
            problem = f"the token in {variable} may not write to {found.full_name}"
            raise EnvironmentProblem(f"{problem}: give it contents: write and pull_requests: write")
        return f"{found.full_name} by the token in {variable}"

    async def upsert_comment(self, issue: int, marker: str, text: str) -> None:
        """Make the comment on an issue or a pull request that bears `marker` say this; create it if there is none."""
        path, body, api = f"/issues/{issue}/comments", add_marker(text, marker), self._api

        async def find_comment() -> IssueComment | None:
            comments = await api.list_objects(IssueComment, path)
            return next((comment for comment in comments if has_marker(comment.body, marker)), None)

        comment = await api.find_or_create(find_comment, partial(api.create_object, IssueComment, path, {"body": body}))
        if not is_same_text(comment.body, body):
            await api.update_object(IssueComment, "PATCH", f"/issues/comments/{comment.id}", {"body": body})
