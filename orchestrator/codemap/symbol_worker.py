"""The program that parses sources, as a process of its own: what a grammar does on odd bytes ends no engine.

Standard input holds the sources one after the other: a line of JSON, `["python", 1204]` for language and size in bytes,
and then the source. For each there is a line of JSON on standard output: symbols and words. A source that takes more
CPU than `_SOURCE_S` ends the process by SIGPROF, as a crash would; the parent goes on behind it.
"""

import json
import resource
import signal
import sys

from orchestrator.codemap.symbol_extraction import extract_symbols

_SOURCE_S = 2.0
"""Seconds of CPU; the largest source that is parsed takes a tenth of one."""
_MOST_BYTES = 2 * 1024**3


def _limit_process() -> None:
    """Limit memory, never above what the process was started with, and leave no core file."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = _MOST_BYTES
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)


def main() -> None:
    """Answer what standard input asks."""
    _limit_process()
    source, answers = sys.stdin.buffer, sys.stdout
    while header := source.readline():
        language, size = json.loads(header)
        content = source.read(size)
        signal.setitimer(signal.ITIMER_PROF, _SOURCE_S)
        found = extract_symbols(language, content)
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(json.dumps(found, separators=(",", ":")) + "\n")
        answers.flush()  # what is known is not lost with a source that ends the process


if __name__ == "__main__":
    main()
