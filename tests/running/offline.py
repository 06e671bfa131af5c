"""`orchestrate` in a process that can reach nothing at all, not even this machine: `python offline.py WORDS…`.

The sandbox's self-test may still listen, which it does as bait.
"""

import sys

from orchestrator.cli.main import main


def _reach_nothing(event: str, arguments: tuple[object, ...]) -> None:
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        raise RuntimeError(f"{event} {arguments[1:]}: nothing may be reached")


if __name__ == "__main__":
    sys.addaudithook(_reach_nothing)
    main(sys.argv[1:])
