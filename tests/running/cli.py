"""The `orchestrate` command in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.running.schemas import problems

COMMAND = (sys.executable, "-m", "orchestrator")


@dataclass(frozen=True)
class Finished:
    """What a call of the command line did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on standard output, which is as its schema says."""
        value = json.loads(self.out)
        if isinstance(value, dict) and "schema" in value:
            found = problems(value)
            assert not found, "\n".join(found)
        return value


def environment(home: Path, **more: str) -> dict[str, str]:
    """A user's environment with a home of its own and nothing of the developer's configuration."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    identity = {name: value for name, value in os.environ.items() if name.startswith("GIT_")}
    return kept | identity | {"HOME": str(home), "LITELLM_LOCAL_MODEL_COST_MAP": "True", "CI": "1"} | more


def orchestrate(
    *words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, timeout_s: float = 300
) -> Finished:
    """Run the command to its end, with a closed standard input."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        env=dict(env or environment(cwd)),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout_s,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)
