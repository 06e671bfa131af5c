"""A recipe's regular expressions at work on contents, in a process that can be ended.

While CPython's `re` is at a match no other thread gets its turn and no signal is heard, and some patterns take longer
than anybody lives for a line of forty letters. So nothing but the end of a process ends such a match.
"""

import json
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from anyio import run_process

from orchestrator.errors import EnvironmentProblem
from orchestrator.migrate.sites import regex_worker

_AT_ONCE_BYTES = 16 * 1024 * 1024
_CRASHED = 1
"""What Python exits with after an exception, which says nothing about a content."""


async def find_matches(pattern: str, contents: Sequence[bytes], timeout_s: float) -> list[list[tuple[int, int]] | None]:
    """Return line and column of every match in each content; None for one that takes longer than `timeout_s`."""
    matches = await _ask_for_all(pattern, None, contents, timeout_s)
    return [None if places is None else list(map(tuple, places)) for places in matches]


async def replace_matches(
    pattern: str, rewrite: str, contents: Sequence[bytes], timeout_s: float
) -> list[bytes | None]:
    """Return each content with every match replaced.

    None for one that takes longer than `timeout_s`, or gets too large.
    """
    texts = await _ask_for_all(pattern, rewrite, contents, timeout_s)
    return [None if text is None else text.encode("latin-1") for text in texts]


async def _ask_for_all(pattern: str, rewrite: str | None, contents: Sequence[bytes], timeout_s: float) -> list[Any]:
    found: list[Any] = []
    while rest := contents[len(found) :]:
        count = bisect_right(list(accumulate(map(len, rest))), _AT_ONCE_BYTES)
        some = rest[: max(1, count)]
        answers = await _ask(pattern, rewrite, some, timeout_s)
        found += answers
        if len(answers) < len(some):
            found.append(None)
    return found


async def _ask(pattern: str, rewrite: str | None, contents: Sequence[bytes], timeout_s: float) -> list[Any]:
    """Return the answers up to the content that ended the process, if one did."""
    texts = [content.decode("latin-1") for content in contents]
    request = {"pattern": pattern, "rewrite": rewrite, "timeout_s": timeout_s, "contents": texts}
    ended = await run_process(
        [sys.executable, "-I", str(Path(regex_worker.__file__))],
        input=json.dumps(request).encode(),
        check=False,
        start_new_session=True,
    )
    if ended.returncode == _CRASHED:
        raise EnvironmentProblem(f"the regular expression {pattern!r} could not be tried: {_read_last_line(ended)}")
    return list(map(json.loads, ended.stdout.split(b"\n")[:-1]))


def _read_last_line(ended: subprocess.CompletedProcess[bytes]) -> str:
    return ended.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
