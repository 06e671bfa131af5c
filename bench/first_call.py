"""Measure how long one waits from `orchestrate run` to the first request to a model, and what it costs until then.

    python -m bench.first_call             # one round of the sample shop
    FULL=1 python -m bench.first_call      # five rounds, also of a repository of 5,000 files

The real verb and its engine on a repository with a real gate and sandbox: with a state directory that is new (cold),
and again with the same one (warm). A scripted model's first request is the event in the journal; through litellm it is
the first request that a server on 127.0.0.1 receives. CPU is that of both processes and of all that they started.

Nothing can be sent through litellm before that is imported, which alone may take longer than the bar. So an import of
it in a process of its own is measured in the same rounds, and the bar holds for what is waited beyond that.

BENCH_AGAINST names another checkout with a `.venv` of its own: it is measured in the same rounds, with the ratio to it.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.measuring import Bar, report_rounds, require_quiet_machine, run_rounds
from orchestrator.demo.published_package import create_sample_project
from tests.running.projects import repository
from tests.running.scripts import planner_ends, write_script

ROOT = Path(__file__).parents[1]
MOST_WAIT_S = 1.5
GATE = "python3 -m unittest -q"
FILES = 5_000
DEADLINE_S = 60.0
POLL_S = 0.01
ANSWER_S = 0.5
"""So long a model thinks, so that what has been used can be read before the run goes on."""
STATES = ("cold", "warm")
_IMPORT = "from orchestrator.llm.litellm_adapter.client import load_litellm; load_litellm()"
_FIRST_CALL = "SELECT at FROM event WHERE kind = 'model.called' ORDER BY seq LIMIT 1"
_TICKS_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Rival:
    """A checkout of Orchestrate with the Python that it is installed in."""

    name: str
    root: Path

    def list_words(self) -> list[str]:
        """Return the words that begin its command."""
        return [str(self.root / ".venv" / "bin" / "python"), "-P", "-m", "orchestrator"]


@dataclass
class FirstCall:
    """The moment of a first request as Unix time, and the seconds of CPU until then."""

    at: float = 0.0
    cpu_s: float = 0.0


def main() -> int:
    """Print the tables; return 1 if a bar is not held."""
    require_quiet_machine()
    is_full = bool(os.environ.get("FULL"))
    rivals = [Rival("ours", ROOT)]
    if against := os.environ.get("BENCH_AGAINST"):
        rivals.append(Rival("theirs", Path(against)))
    rounds, past = int(os.environ.get("ROUNDS", "5" if is_full else "1")), 0
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as scratch:
        _keep_byte_code(Path(scratch) / "byte-code")
        projects = {"sample shop": create_sample_project(Path(scratch)).root}
        if is_full:
            projects[f"{FILES:,} files"] = create_large_project(Path(scratch) / "large")
        for name, project in projects.items():
            bench = FirstCallBench(rivals, project, Path(scratch))
            past |= bench.report_scripted(f"first call: {name}, scripted", rounds)
            past |= bench.report_litellm(f"first call: {name}, litellm", rounds)
    return past


@dataclass(frozen=True)
class FirstCallBench:
    """The rounds of one project."""

    rivals: list[Rival]
    project: Path
    scratch: Path

    def report_scripted(self, title: str, rounds: int) -> int:
        """Measure with a scripted model; return 1 if a bar is not held."""
        self.measure_round(measure_scripted)  # what only the first run of all compiles
        measured = run_rounds(rounds, lambda: self.measure_round(measure_scripted))
        return report_rounds(title, measured, [Bar(f"ours {state}: s", MOST_WAIT_S) for state in STATES])

    def report_litellm(self, title: str, rounds: int) -> int:
        """Measure through litellm; return 1 if a bar is not held."""
        self.measure_litellm_round()
        measured = run_rounds(rounds, self.measure_litellm_round)
        return report_rounds(title, measured, [Bar(f"ours {state}: s beyond litellm", MOST_WAIT_S) for state in STATES])

    def measure_litellm_round(self) -> dict[str, float]:
        """Return the figures of a round through litellm, with what is waited beyond an import of it."""
        figures, alone_s = self.measure_round(measure_litellm), measure_import_s()
        figures["litellm alone: s"] = alone_s
        for state in STATES:
            figures[f"ours {state}: s beyond litellm"] = figures[f"ours {state}: s"] - alone_s
        return figures

    def measure_round(self, measure: "Measurement") -> dict[str, float]:
        """Return seconds of wall and CPU of each rival, cold and warm, and the ratios to another checkout."""
        figures: dict[str, float] = {}
        for rival in self.rivals:
            figures |= measure_pair(rival, self.project, self.scratch, measure)
        if len(self.rivals) > 1:
            for state in STATES:
                figures[f"ours / theirs {state}"] = figures[f"ours {state}: s"] / figures[f"theirs {state}: s"]
        return figures


def measure_import_s() -> float:
    """Return the seconds that an import of litellm takes as the engine imports it, in a process of its own."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", _IMPORT], check=True)
    return time.monotonic() - began


def measure_pair(rival: Rival, project: Path, scratch: Path, measure: "Measurement") -> dict[str, float]:
    """Return the figures of a run in a new state directory, and of the next one in it."""
    figures = {}
    with tempfile.TemporaryDirectory(prefix="state-", dir=scratch) as state:
        for name in STATES:
            began = time.time()
            first = measure(rival, project, Path(state))
            if not first.at:
                sys.exit(f"{rival.name} asked no model")
            figures[f"{rival.name} {name}: s"] = first.at - began
            figures[f"{rival.name} {name}: CPU s"] = first.cpu_s
    return figures


def measure_scripted(rival: Rival, project: Path, state: Path) -> FirstCall:
    """Return the first call of a scripted planner, as it is recorded."""
    script = write_script(state / "script.json", [planner_ends().model_copy(update={"delay_s": ANSWER_S})])
    known, first = _list_journals(state), FirstCall()
    with run_goal(rival, project, state, [f"roles.default.model={script}"]) as process:
        while not first.at and process.poll() is None:
            for journal in _list_journals(state) - known:
                first.at = _read_first_call(journal)
            if first.at:
                first.cpu_s = read_cpu_s(process.pid)
            time.sleep(POLL_S)
    return first


def measure_litellm(rival: Rival, project: Path, state: Path) -> FirstCall:
    """Return the first request that a server receives from litellm."""
    with serve_planner() as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        model = ["roles.default.model=openai/planner", f"roles.default.api_base={url}"]
        with run_goal(rival, project, state, [*model, "roles.default.api_key_env=BENCH_KEY"]) as process:
            server.read_cpu_s = lambda: read_cpu_s(process.pid)
    return server.first


Measurement = Callable[[Rival, Path, Path], FirstCall]


@contextmanager
def run_goal(rival: Rival, project: Path, state: Path, settings: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a goal whose planner finds nothing to do, to its end."""
    words = [
        *rival.list_words(),
        "run",
        "make it better",
        "--gate",
        GATE,
        "--repo",
        str(project),
        "--state",
        str(state),
    ]
    for setting in settings:
        words += ["--set", setting]
    with tempfile.TemporaryFile() as printed:
        environment = os.environ | {"BENCH_KEY": "sk-bench-loopback"}
        with subprocess.Popen(words, stdout=printed, stderr=printed, env=environment) as process:
            yield process
            process.wait(DEADLINE_S)
        printed.seek(0)
        text = printed.read().decode(errors="replace")
        if "the planner submitted no task" not in text:
            sys.exit(f"{' '.join(words)} exits {process.returncode}:\n{text[-2_000:]}")


class PlannerServer(ThreadingHTTPServer):
    """Chat completions on 127.0.0.1: every reply finishes with nothing to do. Notes its first request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _PlannerHandler)
        self.first = FirstCall()
        self.read_cpu_s: Callable[[], float] = float

    def note_request(self) -> None:
        """Note the moment and the CPU used, if no request was before it."""
        if not self.first.at:
            self.first = FirstCall(time.time(), self.read_cpu_s())


class _PlannerHandler(BaseHTTPRequestHandler):
    server: PlannerServer

    def do_POST(self) -> None:
        self.server.note_request()
        self.rfile.read(int(self.headers["Content-Length"]))
        function = {"name": "finish", "arguments": json.dumps({"summary": "done"})}
        call = {"id": "call_1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        usage = {"prompt_tokens": 1_000, "completion_tokens": 20, "total_tokens": 1_020}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        shared = {"id": "c", "object": "chat.completion", "created": 1, "model": "planner"}
        content = json.dumps({**shared, "choices": [choice], "usage": usage}).encode()
        time.sleep(ANSWER_S)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_words: object) -> None:
        """Print nothing."""


@contextmanager
def serve_planner() -> Iterator[PlannerServer]:
    """Serve a planner in a thread while the block lasts."""
    with PlannerServer() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def read_cpu_s(pid: int) -> float:
    """Return the seconds of CPU of a process, of those below it, and of those that they have waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    used = sum(map(int, fields[11:15])) / _TICKS_S
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in _read_words(children):
            try:
                used += read_cpu_s(int(child))
            except OSError:  # it has ended meanwhile
                continue
    return used


def _read_words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:  # the thread has ended meanwhile
        return []


def _list_journals(state: Path) -> set[Path]:
    return set(state.glob("*/runs/*/journal.db"))


def _read_first_call(journal: Path) -> float:
    """Return the moment of a journal's first call of a model as Unix time, 0 if there is none."""
    try:
        with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
            found = connection.execute(_FIRST_CALL).fetchone()
    except sqlite3.OperationalError:  # it is only being made
        return 0.0
    return datetime.fromisoformat(found[0]).timestamp() if found else 0.0


def create_large_project(root: Path) -> Path:
    """Make a repository of many modules in packages, with one test."""
    files: dict[str, str | bytes] = {}
    for number in range(FILES - 2):
        name = f"package_{number % 50:02}/module_{number:04}.py"
        files[name] = f'"""Module {number}."""\n\n\ndef compute_{number}(value):\n    return value + {number}\n'
    files[".gitignore"] = "__pycache__/\n"
    files["test_one.py"] = (
        "import unittest\n\n\nclass OneTest(unittest.TestCase):\n"
        "    def test_one(self):\n        self.assertEqual(1, 1)\n"
    )
    return repository(root, files)


def _keep_byte_code(folder: Path) -> None:
    """Have every process that is started from here keep its byte code in a folder, whatever the environment says."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


if __name__ == "__main__":
    sys.exit(main())
