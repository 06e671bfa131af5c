"""GitHub's routes that we use. What is not here, and every query that a route does not know, fails the test."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.running.forge.faults import Answer
from tests.running.forge.hosted import Hosted, Refusal

_PAGED = ("per_page", "page")
_MOST = 100


@dataclass(frozen=True)
class Call:
    """A request of somebody who may make it: the parts of its path, its query and its body."""

    hosted: Hosted
    parts: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any]
    rights: Mapping[str, str]

    @property
    def number(self) -> int:
        return int(self.parts["number"])


@dataclass(frozen=True)
class Route:
    """A method and a path below the repository, the right it takes, and the names that its query may have."""

    method: str
    path: str
    right: str
    act: Callable[[Call], Answer]
    query: tuple[str, ...] = ()

    def match(self, method: str, path: str) -> Mapping[str, str] | None:
        """The parts of a path that is this route's."""
        found = re.fullmatch(self.path, path) if method == self.method else None
        return None if found is None else found.groupdict()


def _repository(call: Call) -> Answer:
    may = call.rights.get("contents") == "write"
    named = {"id": 1, "name": call.hosted.name.partition("/")[2], "full_name": call.hosted.name, "private": True}
    return Answer(200, named | {"default_branch": call.hosted.default_branch, "permissions": {"push": may}})


def _pulls(call: Call) -> Answer:
    head, state = call.query.get("head", ""), call.query.get("state", "open")
    pulls = [call.hosted.pull(number) for number in sorted(call.hosted.pulls, reverse=True)]
    found = [pull for pull in pulls if state in {"all", pull["state"]}]
    if ":" in head:  # GitHub leaves out a head without an owner, and gives all
        found = [pull for pull in found if pull["head"]["label"] == head]
    return _page(call, found)


def _create(call: Call) -> Answer:
    return Answer(201, call.hosted.create(call.body))


def _pull(call: Call) -> Answer:
    pull = call.hosted.pull(call.number)
    return Answer(200, pull | {"merged": pull["merged_at"] is not None})


def _update(call: Call) -> Answer:
    return Answer(200, call.hosted.update(call.number, call.body))


def _merge(call: Call) -> Answer:
    return Answer(200, call.hosted.merge(call.number, call.body))


def _comments(call: Call) -> Answer:
    return _page(call, [comment for on, comment in call.hosted.comments.values() if on == call.number])


def _say(call: Call) -> Answer:
    return Answer(201, call.hosted.say(call.number, call.body))


def _change_comment(call: Call) -> Answer:
    if call.number not in call.hosted.comments:
        raise Refusal(404, "Not Found")
    comment = call.hosted.comments[call.number][1]
    comment["body"] = call.body["body"]
    return Answer(200, comment)


def _label(call: Call) -> Answer:
    labels = call.hosted.pull(call.number)["labels"]
    held = {label["name"] for label in labels}
    labels += [{"name": name} for name in call.body["labels"] if name not in held]
    return Answer(200, labels)


def _check_runs(call: Call) -> Answer:
    call.hosted.require_commit(call.parts["ref"])
    runs = [*call.hosted.runs.get(call.parts["ref"], {}).values()]
    return _page(call, runs, "check_runs")


def _status(call: Call) -> Answer:
    call.hosted.require_commit(call.parts["ref"])
    statuses = [*call.hosted.statuses.get(call.parts["ref"], {}).values()]
    states = {status["state"] for status in statuses}
    state = "failure" if states & {"failure", "error"} else "success" if states == {"success"} else "pending"
    return _page(call, statuses, "statuses", state=state, sha=call.parts["ref"])


def _page(call: Call, items: list[Any], within: str = "", **more: object) -> Answer:
    size, page = min(int(call.query.get("per_page", 30)), _MOST), int(call.query.get("page", 1))
    shown = items[(page - 1) * size : page * size]
    goes_on = page * size < len(items)
    headers = {"Link": f'<{call.hosted.url}/next?page={page + 1}>; rel="next"'} if goes_on else {}
    return Answer(200, {**more, "total_count": len(items), within: shown} if within else shown, headers)


_N, _SHA = r"(?P<number>\d+)", r"(?P<ref>[0-9a-f]{40})"
ROUTES = (
    Route("GET", "", "metadata: read", _repository),
    Route("GET", "/pulls", "pull_requests: read", _pulls, ("head", "state", "base", "sort", "direction", *_PAGED)),
    Route("POST", "/pulls", "pull_requests: write", _create),
    Route("GET", f"/pulls/{_N}", "pull_requests: read", _pull),
    Route("PATCH", f"/pulls/{_N}", "pull_requests: write", _update),
    Route("PUT", f"/pulls/{_N}/merge", "contents: write", _merge),
    Route("GET", f"/issues/{_N}/comments", "pull_requests: read", _comments, ("since", *_PAGED)),
    Route("POST", f"/issues/{_N}/comments", "pull_requests: write", _say),
    Route("PATCH", f"/issues/comments/{_N}", "pull_requests: write", _change_comment),
    Route("POST", f"/issues/{_N}/labels", "pull_requests: write", _label),
    Route("GET", f"/commits/{_SHA}/check-runs", "checks: read", _check_runs, ("check_name", "filter", *_PAGED)),
    Route("GET", f"/commits/{_SHA}/status", "statuses: read", _status, _PAGED),
)


def require_right(right: str, rights: Mapping[str, str]) -> None:
    """Refuse as GitHub does what a token may not do."""
    name, _, level = right.partition(": ")
    held = rights.get(name)
    if held not in {"write", level}:
        told = {"X-Accepted-GitHub-Permissions": f"{name}={level}"}
        raise Refusal(403, "Resource not accessible by integration", headers=told)


def route_of(method: str, path: str) -> Iterator[tuple[Route, Mapping[str, str]]]:
    """The route of a request and the parts of its path, if it has one."""
    for route in ROUTES:
        if (parts := route.match(method, path)) is not None:
            yield route, parts
