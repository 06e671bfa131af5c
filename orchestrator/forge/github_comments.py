"""One comment of ours on an issue, kept up to date."""

from functools import partial

from orchestrator.forge.github_answers import Comment
from orchestrator.forge.github_api import GitHubApi
from orchestrator.forge.marks import bears, marked


async def keep_comment(api: GitHubApi, number: int, own: str, text: str) -> None:
    """Have the comment that bears the mark `own` say this; it is made where there is none.

    Raises:
        EnvironmentProblem: the token or the repository does not do.
        ProviderDown: GitHub stays down.
    """
    path, body = f"/issues/{number}/comments", marked(text, own)
    comment = await api.once(partial(_found, api, path, own), partial(api.make, Comment, path, {"body": body}))
    if (comment.body or "").replace("\r\n", "\n").strip() != body.strip():
        await api.set(Comment, "PATCH", f"/issues/comments/{comment.id}", {"body": body})


async def _found(api: GitHubApi, path: str, own: str) -> Comment | None:
    comments = await api.pages(Comment, path)
    return next((comment for comment in comments if bears(comment.body, own)), None)
