"""GitHub's own description of its API, as far as we use it, and the server that holds requests against it (Prism)."""

import http.client
import json
import os
import queue
import shutil
import subprocess
import tarfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.running.forge.server import Asked

CACHE = Path(__file__).parents[3] / ".cache" / "github-description"
_DESCRIPTION = "package/generated/api.github.com.json"
_USED = "/repos/{owner}/{repo}"
_BELOW = tuple(f"{_USED}/{name}" for name in ("pulls", "issues", "commits"))
_START_S = 150
_UNSENT = {"host", "connection", "accept-encoding", "content-length", "if-none-match"}


def description() -> Path:
    """The description of the paths about pull requests; skips without npm or a registry to get it from."""
    place = CACHE / "api.json"
    if not place.exists():
        (archive,) = _fetched("pack", "@octokit/openapi@23", pattern="octokit-openapi-*.tgz")
        with tarfile.open(archive) as packed:
            content = packed.extractfile(_DESCRIPTION)
            assert content is not None
            whole = json.load(content)
        archive.unlink()
        whole["paths"] = {
            path: what for path, what in whole["paths"].items() if path == _USED or path.startswith(_BELOW)
        }
        place.with_suffix(".new").write_text(json.dumps(whole))
        place.with_suffix(".new").replace(place)
    return place


def _fetched(*words: str, pattern: str) -> list[Path]:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed (make node)")
    CACHE.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["npm", *words], cwd=CACHE, capture_output=True, text=True, check=False, timeout=500)
    if done.returncode:
        pytest.skip(f"needs an npm registry: {done.stderr[-300:]}")
    return list(CACHE.glob(pattern))


@contextmanager
def prism() -> Iterator[int]:
    """The port on which Prism plays GitHub; it takes its time to begin."""
    file = description()
    if not (program := CACHE / "node_modules" / ".bin" / "prism").exists():
        options = ("--no-audit", "--no-fund", "--no-package-lock", "--no-save")
        _fetched("install", "--prefix", str(CACHE), *options, "@stoplight/prism-cli@5", pattern="node_modules")
    words = [program, "mock", "--host", "127.0.0.1", "--port", "0", file]
    environ = {**os.environ, "NO_COLOR": "1", "HOME": str(CACHE)}
    process = subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield _port(process)
    finally:
        process.kill()
        process.communicate()


def _port(process: "subprocess.Popen[str]") -> int:
    """What it says that it listens on; its words are read on, so that it never waits for us."""
    said: queue.Queue[str] = queue.Queue()
    output = process.stdout
    assert output is not None
    threading.Thread(target=lambda: [said.put(line) for line in output], daemon=True).start()
    until, heard = time.monotonic() + _START_S, []
    while time.monotonic() < until and process.poll() is None:
        try:
            heard.append(said.get(timeout=1))
        except queue.Empty:
            continue
        if "listening on http://127.0.0.1:" in heard[-1]:
            return int(heard[-1].rsplit(":", 1)[1].split()[0])
    raise AssertionError(f"Prism did not begin: {''.join(heard)[-2000:]}")


def replayed(port: int, asked: Asked) -> tuple[int, list[Any], str]:
    """Ask Prism the same; the status, the violations that it names, and its words.

    It holds its own answers against the description, too, whose examples do not always keep to it: that is left out.
    """
    headers = {name: value for name, value in asked.headers.items() if name not in _UNSENT}
    content = None if asked.body is None else json.dumps(asked.body)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(asked.method, asked.target, content, headers)
        response = connection.getresponse()
        named = json.loads(response.getheader("sl-violations") or "[]")
        violations = [one for one in named if one["location"][:1] != ["response"]]
        return response.status, violations, response.read().decode()
    finally:
        connection.close()


class Schemas:
    """GitHub's schemas of answers, for a validator of JSON Schema."""

    def __init__(self, file: Path) -> None:
        whole = json.loads(file.read_text())
        self._paths = whole["paths"]
        self.components = _as_json_schema(whole["components"])

    def answer(self, asked: Asked) -> dict[str, Any] | None:
        """The schema of what a request got; None where the description has no words for its content."""
        parts = asked.target.partition("?")[0].split("/")
        for path, operations in self._paths.items():
            if _fits(path.split("/"), parts) and asked.method.lower() in operations:
                answers = operations[asked.method.lower()]["responses"]
                return self._schema(answers.get(str(asked.status)))
        raise AssertionError(f"GitHub has no {asked.line}")

    def _schema(self, answer: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if answer and "$ref" in answer:
            answer = self.components["responses"][answer["$ref"].rsplit("/", 1)[1]]
        content = (answer or {}).get("content", {}).get("application/json")
        return {**_as_json_schema(content["schema"]), "components": self.components} if content else None


def _fits(path: list[str], parts: list[str]) -> bool:
    return len(path) == len(parts) and all(a == b or a.startswith("{") for a, b in zip(path, parts, strict=True))


def _as_json_schema(schema: Any) -> Any:
    """OpenAPI's way to say `or null` as JSON Schema says it, and no member required: the fake gives what is read."""
    if isinstance(schema, list):
        return [_as_json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _as_json_schema(value) for name, value in schema.items() if name != "required" or value is True}
    if kept.pop("nullable", False) is True:
        return {"anyOf": [kept, {"type": "null"}]}
    return kept
