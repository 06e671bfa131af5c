"""What it means that GitHub does not do what it was asked: who has to mend what."""

from orchestrator.errors import EnvironmentProblem, PersonNeeded
from orchestrator.forge.github_answers import told
from orchestrator.forge.github_http import Reply
from orchestrator.forge.github_place import Place

_MOVED = range(300, 400)
_NEEDED = "contents: write, pull_requests: write, checks: read, statuses: read"


class Lost(Exception):
    """Nobody knows whether a request that must happen once has had its effect."""


class Refused(PersonNeeded):
    """GitHub understood a request and does not do it; `words` are the status and what it says, in one line."""

    def __init__(self, host: str, what: str, words: str) -> None:
        super().__init__(f"{host} refuses {what} ({words}): see to that, then resume the run")
        self.words = words


def refusal(place: Place, reply: Reply, method: str, path: str) -> EnvironmentProblem | Refused:
    """What a person has to mend about the token or the configuration if that is why, else GitHub's own words."""
    said, what = place.plain(told(reply.content)), f"{place.repository}{path}"
    if reply.status == 401:
        mend = f"put a valid one into {place.variable}"
        return EnvironmentProblem(f"{place.host} does not accept the token in {place.variable} ({said}): {mend}")
    if reply.status == 403:
        return EnvironmentProblem(f"{place.host} forbids {method} {what} ({said}): {_rights(place, reply)}")
    if reply.status == 404:
        return EnvironmentProblem(
            f"{place.host} has no {what}, or the token in {place.variable} may not see it: set [pr] repository and url "
            "to what exists, or use a token that has access to it"
        )
    if reply.status in _MOVED:
        return EnvironmentProblem(
            f"{place.host} says that {place.repository} has moved: set [pr] repository to its new owner/name"
        )
    return Refused(place.host, f"{method} {what}", f"{reply.status} {said}".strip())


def senseless(place: Place, what: str) -> EnvironmentProblem:
    """An answer that GitHub would not give."""
    return EnvironmentProblem(
        f"{place.host} does not answer as GitHub's API does ({what}): is [pr] url right? Enterprise servers have it at "
        "https://HOST/api/v3"
    )


def _rights(place: Place, reply: Reply) -> str:
    """How to mend a 403. GitHub names the permission that is missing, and the page that lets a token sign in."""
    if "x-github-sso" in reply.headers:
        return f"authorize the token in {place.variable} for the organization's single sign-on"
    wanted = place.plain(reply.headers.get("x-accepted-github-permissions", "")).replace("=", ": ")
    return f"give the token in {place.variable} this permission on {place.repository}: {wanted or _NEEDED}"
