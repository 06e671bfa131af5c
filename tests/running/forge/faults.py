"""What goes wrong with requests, as it does between us and GitHub."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Answer:
    """A status, the value that is sent as JSON, and headers of its own."""

    status: int
    value: Any
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        return self.value if isinstance(self.value, bytes) else json.dumps(self.value).encode()


@dataclass(frozen=True)
class Fault:
    """Strikes the requests that match, `times` times, after letting `after` of them pass.

    With `happens` what is asked for is done all the same. `answer` is sent in place of the true one; without one, and
    without `is_only_slow`, the connection is closed.
    """

    method: str = ""
    path: str = ""
    happens: bool = False
    answer: Answer | None = None
    is_only_slow: bool = False
    delay_s: float = 0.0
    times: int = 1
    after: int = 0

    def concerns(self, method: str, path: str) -> bool:
        """Whether a request is one of those; `path` is a regular expression that is searched for."""
        return self.method in {"", method} and re.search(self.path, path) is not None

    def on(self, method: str, path: str, *, times: int = 1, after: int = 0) -> "Fault":
        """The same for these requests."""
        return replace(self, method=method, path=path, times=times, after=after)


def bad_gateway(status: int = 502, *, happens: bool = False) -> Fault:
    """A page of the load balancer's."""
    return Fault(happens=happens, answer=Answer(status, b"<html>Unicorn!</html>", {"Content-Type": "text/html"}))


def secondary_limit(seconds: int, status: int = 403) -> Fault:
    """Too fast, with the time to wait."""
    words = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    return Fault(answer=Answer(status, {"message": words}, {"Retry-After": str(seconds)}))


def primary_limit(seconds: int) -> Fault:
    """The hour's requests are used up; they come back at a time that is told."""
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + seconds)}
    return Fault(answer=Answer(403, {"message": "API rate limit exceeded for installation ID 1."}, headers))


def lost() -> Fault:
    """It is done, and the connection breaks before anybody hears of it."""
    return Fault(happens=True)


def unreachable() -> Fault:
    """The connection breaks before anything is done."""
    return Fault()


def slow(seconds: float) -> Fault:
    """It is done and answered, later."""
    return Fault(is_only_slow=True, delay_s=seconds)


class Faults:
    """The faults that are still to strike, in order."""

    def __init__(self) -> None:
        self.left: list[Fault] = []

    def strike(self, method: str, path: str) -> Fault | None:
        """The fault of this request, if it has one."""
        for place, fault in enumerate(self.left):
            if fault.concerns(method, path):
                if fault.after:
                    self.left[place] = replace(fault, after=fault.after - 1)
                    return None
                self.left[place : place + 1] = [replace(fault, times=fault.times - 1)] if fault.times > 1 else []
                return fault
        return None
