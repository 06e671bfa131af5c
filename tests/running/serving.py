"""The loopback model server in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]


@contextmanager
def model_server(scripts: Sequence[Path], state: Path, *more: str) -> Iterator[str]:
    """Serve scripts on a free port of 127.0.0.1, with more words for the server; its base URL."""
    words = [sys.executable, "-m", "tests.loopback.server", *map(str, scripts), "--state", str(state), *more]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait()


def stats(url: str) -> dict[str, Any]:
    """What happened at the server."""
    with urlopen(f"{url.removesuffix('/v1')}/_stats") as answer:
        told: dict[str, Any] = json.load(answer)
    return told


def model_words(url: str) -> list[str]:
    """Options that send every role to the server, the worker's variant to a model of its own."""
    words = ["--model", "worker.strong=openai/worker-strong"]
    for role in ("planner", "worker", "judge"):
        words += ["--model", f"{role}=openai/{role}", "--set", f"roles.{role}.api_base={url}"]
        words += ["--set", f"roles.{role}.api_key_env=LOOPBACK_KEY"]
    return words
