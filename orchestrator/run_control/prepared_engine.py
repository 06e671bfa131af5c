"""An engine process that loads itself while its run is still being made, and gets its orders on standard input.

It holds nothing and has done nothing before its run is named. It ends when whoever prepared it is gone, or needs none.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Self

from orchestrator.errors import UsageProblem

PREPARED_RUN = "-"
"""The word that stands for the run in the command line of an engine that is named it later."""


@dataclass(frozen=True)
class EngineOrders:
    """An order for an engine: first perhaps only that it `loads_models`, then at last a run.

    `log` is the file that what it prints goes to, `parent` the process with which it stops, if any.
    """

    loads_models: bool = False
    run: str = ""
    repository: str = ""
    state: str = ""
    log: str = ""
    parent: int | None = None


class PreparedEngine:
    """An engine that waits for its orders; a context manager, at whose end one that got no run is gone."""

    def __init__(self, repository: Path, state: str) -> None:
        """Start the process; without one everything goes on as if nobody had prepared any."""
        places = ["--repo", str(repository.absolute()), *(["--state", state] if state else [])]
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = subprocess.Popen(
                build_engine_words(PREPARED_RUN, *places),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env=build_engine_environment(),
            )

    def load_models(self) -> None:
        """Have it load what asks the models of providers: the run is going to need that."""
        self._send_orders(EngineOrders(loads_models=True))

    def hand_over_run(self, orders: EngineOrders) -> "subprocess.Popen[bytes] | None":
        """Have it work on a run, and return its process; None if it is gone, so that another one is needed."""
        process = self._process
        if process is None or process.poll() is not None or not self._send_orders(orders):
            return None
        self._process = None
        if process.stdin is not None:
            process.stdin.close()
        return process

    def _send_orders(self, orders: EngineOrders) -> bool:
        if self._process is None or self._process.stdin is None:
            return False
        try:
            self._process.stdin.write(json.dumps(asdict(orders)).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:  # it has ended
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin is not None:
                with suppress(OSError):
                    self._process.stdin.close()


def read_orders(stream: BinaryIO) -> EngineOrders | None:
    """Return the next orders of a stream; None at its end. Blocks.

    Raises:
        UsageProblem: there stands something else.
    """
    line = stream.readline()
    if not line:
        return None
    try:
        return EngineOrders(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise UsageProblem("an engine without a run takes orders of `orchestrate run` only: name the run") from error


def build_engine_words(run: str, *options: str) -> list[str]:
    """Return the command line of an engine. Nothing of the directory that we stand in is imported (-P)."""
    return [sys.executable, "-P", "-m", "orchestrator", "engine", run, *options]


def build_engine_environment() -> dict[str, str]:
    """Return the environment of an engine: ours, and what it prints is in its log at once."""
    return os.environ | {"PYTHONUNBUFFERED": "1"}
