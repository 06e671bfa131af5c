"""A repository on GitHub, apart from any run: who may write to it, and our comments on its issues."""

from functools import partial

from orchestrator.errors import EnvironmentProblem
from orchestrator.forge.github.api import GitHubApi
from orchestrator.forge.github.responses import GitHubRepository, IssueComment
from orchestrator.forge.markers import add_marker, has_marker, is_same_text


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
        found, variable = await self._api.read_object(GitHubRepository, ""), self._api.endpoint.token_variable
        if found.permissions and not found.permissions.push:
            raise EnvironmentProblem(
                f"the token in {variable} may not write to {found.full_name}: give it contents: write and "
                "pull_requests: write"
            )
        return f"{found.full_name} by the token in {variable}"

    async def upsert_comment(self, issue: int, marker: str, text: str) -> None:
        """Make the comment that bears `marker` say this; create it where there is none."""
        path, body = f"/issues/{issue}/comments", add_marker(text, marker)
        comment = await self._api.find_or_create(
            partial(self._find_comment, path, marker),
            partial(self._api.create_object, IssueComment, path, {"body": body}),
        )
        if not is_same_text(comment.body, body):
            await self._api.update_object(IssueComment, "PATCH", f"/issues/comments/{comment.id}", {"body": body})

    async def _find_comment(self, path: str, marker: str) -> IssueComment | None:
        for comment in await self._api.list_objects(IssueComment, path):
            if has_marker(comment.body, marker):
                return comment
        return None
