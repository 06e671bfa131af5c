"""Parsing sources in processes of our own, several at a time: they get bytes, give symbols and touch nothing else."""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from anyio import BrokenResourceError, create_task_group, move_on_after, run_process

from orchestrator.codemap.symbol_extraction import SourceSymbols, Symbol

_WORKER = "orchestrator.codemap.symbol_worker"
_MAX_PROCESSES = 4
_SHARE_BYTES = 300_000
"""Below this it costs more to start another process than it saves."""
_MAX_ENDED = 3
"""So many sources may end a process before the rest of its share is left out."""
_TIMEOUT_S = 60.0


class Source(NamedTuple):
    """A source to be parsed: the id of its blob, its language and its content."""

    oid: str
    language: str
    content: bytes


async def extract_all_symbols(sources: Sequence[Source]) -> dict[str, SourceSymbols]:
    """Return the symbols of sources by the ids of their blobs.

    A source on which a parser fails is not there, and where too many of them do, neither are others.
    """
    found: dict[str, SourceSymbols] = {}
    async with create_task_group() as group:
        for share in _divide_sources(sources):
            group.start_soon(_parse_share, share, found)
    return found


def _divide_sources(sources: Sequence[Source]) -> list[list[Source]]:
    """Return shares of about the same size, as many as there are processors and as are worth a process."""
    total = 0
    for source in sources:
        total += len(source.content)
    count = min(_MAX_PROCESSES, len(os.sched_getaffinity(0)), 1 + total // _SHARE_BYTES, max(len(sources), 1))
    shares: list[list[Source]] = [[] for _ in range(count)]
    sizes = [0] * count
    for source in sources:
        smallest = sizes.index(min(sizes))
        shares[smallest].append(source)
        sizes[smallest] += len(source.content)
    return shares


async def _parse_share(share: Sequence[Source], found: dict[str, SourceSymbols]) -> None:
    """Parse a share, behind each source that ends the process in one of the next."""
    rest, ended = list(share), 0
    while rest and ended <= _MAX_ENDED:
        answers = await _ask_worker(rest)
        for source, answer in zip(rest, answers, strict=False):
            found[source.oid] = answer
        rest = rest[len(answers) :]
        rest = rest[1:]
        ended += 1


async def _ask_worker(sources: Sequence[Source]) -> list[SourceSymbols]:
    """Return the answers up to the source that ended the process, if one did."""
    given = bytearray()
    for source in sources:
        given += json.dumps([source.language, len(source.content)]).encode() + b"\n" + source.content
    output = b""
    with move_on_after(_TIMEOUT_S):
        output = await _run_worker(bytes(given))
    answers = []
    for line in output.split(b"\n")[:-1]:
        with suppress(ValueError, TypeError):
            answers.append(decode_symbols(json.loads(line)))
    return answers


async def _run_worker(given: bytes) -> bytes:
    """Return what a worker prints; nothing of one that cannot begin, or ends before it has read all."""
    command, output = [sys.executable, "-I", "-m", _WORKER], b""
    try:
        ended = await run_process(command, input=given, check=False, cwd="/", env={}, start_new_session=True)
        output = ended.stdout
    except* (OSError, BrokenResourceError):
        output = b""
    return output


def decode_symbols(stored: object) -> SourceSymbols:
    """Return symbols as JSON has them.

    Raises:
        ValueError, TypeError: it has something else.
    """
    if not isinstance(stored, list) or len(stored) != 2:
        raise ValueError("no symbols of a source")
    symbols = []
    for kind, name, line, depth, signature in stored[0]:
        symbols.append(Symbol(str(kind), str(name), int(line), int(depth), str(signature)))
    return SourceSymbols(tuple(symbols), tuple(map(str, stored[1])))
