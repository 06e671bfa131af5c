"""Errors of GitHub by who has to mend what."""

from orchestrator.errors import EnvironmentProblem, PersonNeeded
from orchestrator.forge.github.endpoint import RepositoryEndpoint
from orchestrator.forge.github.http_client import HttpResponse
from orchestrator.forge.github.responses import parse_error_message

_MOVED = range(300, 400)
_NEEDED = "contents: write, pull_requests: write, checks: read, statuses: read"


class UnknownOutcome(Exception):
    """Nobody knows whether a request that must happen once has had its effect."""


class GitHubRefused(PersonNeeded):
    """GitHub understood a request and does not do it; `words` are the status and what it says, in one line."""

    def __init__(self, host: str, what: str, words: str) -> None:
        super().__init__(f"{host} refuses {what} ({words}): see to that, then resume the run")
        self.detail = words


def build_refusal(
    place: RepositoryEndpoint, reply: HttpResponse, method: str, path: str
) -> EnvironmentProblem | GitHubRefused:
    """Return what a person has to mend about the token or the configuration if that is why, else GitHub's own words."""
    said, what = place.redact_text(parse_error_message(reply.content)), f"{place.repository}{path}"
    if reply.status == 401:
        mend = f"put a valid one into {place.token_variable}"
        return EnvironmentProblem(f"{place.host} does not accept the token in {place.token_variable} ({said}): {mend}")
    if reply.status == 403:
        return EnvironmentProblem(f"{place.host} forbids {method} {what} ({said}): {_rights(place, reply)}")
    if reply.status == 404:
        return EnvironmentProblem(
            f"{place.host} has no {what}, or the token in {place.token_variable} may not see it: set [pr] repository "
            "and url to what exists, or use a token that has access to it"
        )
    if reply.status in _MOVED:
        return EnvironmentProblem(
            f"{place.host} says that {place.repository} has moved: set [pr] repository to its new owner/name"
        )
    return GitHubRefused(place.host, f"{method} {what}", f"{reply.status} {said}".strip())


def build_bad_response(place: RepositoryEndpoint, what: str) -> EnvironmentProblem:
    """Return an answer that GitHub would not give."""
    return EnvironmentProblem(
        f"{place.host} does not answer as GitHub's API does ({what}): is [pr] url right? Enterprise servers have it at "
        "https://HOST/api/v3"
    )


def _rights(place: RepositoryEndpoint, reply: HttpResponse) -> str:
    """Return how to mend a 403. GitHub names the permission that is missing, and the page that lets a token sign in."""
    if "x-github-sso" in reply.headers:
        return f"authorize the token in {place.token_variable} for the organization's single sign-on"
    wanted = place.redact_text(reply.headers.get("x-accepted-github-permissions", "")).replace("=", ": ")
    return f"give the token in {place.token_variable} this permission on {place.repository}: {wanted or _NEEDED}"
