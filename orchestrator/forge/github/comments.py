"""One comment of ours on an issue, kept up to date."""

from functools import partial

from orchestrator.forge.github.api import GitHubApi
from orchestrator.forge.github.responses import IssueComment
from orchestrator.forge.markers import add_marker, has_marker


async def upsert_comment(api: GitHubApi, number: int, own: str, text: str) -> None:
    """Have the comment that bears the mark `own` say this; it is made where there is none.

    Raises:
        EnvironmentProblem: the token or the repository does not do.
        ProviderDown: GitHub stays down.
    """
    path, body = f"/issues/{number}/comments", add_marker(text, own)
    comment = await api.find_or_create(
        partial(_found, api, path, own), partial(api.create_object, IssueComment, path, {"body": body})
    )
    if (comment.body or "").replace("\r\n", "\n").strip() != body.strip():
        await api.update_object(IssueComment, "PATCH", f"/issues/comments/{comment.id}", {"body": body})


async def _found(api: GitHubApi, path: str, own: str) -> IssueComment | None:
    comments = await api.list_objects(IssueComment, path)
    return next((comment for comment in comments if has_marker(comment.body, own)), None)
