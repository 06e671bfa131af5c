"""What light verbs cost, and how long one waits for a terminal: against the bounds of DESIGN section 7 and of issue 7.

    python -m bench.startup

A cost is CPU time of a whole process, median of many; a wait is time by the clock, median of many. All is measured as
it is once installed, with the byte code of every module at hand. Leaves with 1 if a bound is passed, or if a verb
loads what it must not.
"""

import fcntl
import json
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path

ROUNDS = 9
BOUNDS_MS = {
    "--version": 80.0,
    "status --json": 150.0,
    "complete a task": 200.0,
    "engine's import": 500.0,
    "run: foreground": 800.0,
    "doctor": 1000.0,
}
"""An engine imports what a goal takes; `run` in the terminal makes a run and starts an engine, which is not counted.

`doctor` is counted with git, the sandbox's self-test and the gate that it starts.
"""
ENGINE = """
import contextlib, io
from orchestrator.cli.main import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main(["engine", "--help"])
import orchestrator.engine.goal.run
"""
WAITS_MS = {"watch: header": 3000.0, "nobody to ask": 1000.0}
"""From the command to the dashboard's header in a terminal of 80×24; to the refusal where standard input is closed."""
HEADER = b"Fleet"
DEADLINE_S = 30.0
STARTS = 5
GATE = "python3 -m unittest -q"
SETTLE_S = 0.2
FORBIDDEN = ("litellm", "textual", "git", "openai", "tree_sitter")
FORBIDDEN_TO = {"status --json": (*FORBIDDEN, "pydantic")}
"""The engine's status is printed as it was stored: nothing is validated."""
LOADED = """
import json, sys
sys.argv = ["orchestrate", *sys.argv[1:]]
from orchestrator.cli.main import main
try:
    main()
except SystemExit:
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def cpu_ms(words: Sequence[str]) -> float:
    """User and system time of one process, in milliseconds."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)} exits {process.returncode}")
    return (used.ru_utime + used.ru_stime) * 1000


def list_loaded(arguments: Sequence[str]) -> set[str]:
    """The top-level modules that a verb loads."""
    done = subprocess.run([sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def main() -> None:
    """Measure on a finished scripted run, print a table, judge."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "demo"
        orchestrate = [sys.executable, "-m", "orchestrator"]
        have_byte_code(Path(scratch) / "byte-code")
        demo = [*orchestrate, "demo", "--kind", "goal", "--dir", str(place)]
        subprocess.run(demo, check=True, stderr=subprocess.DEVNULL)
        where = ["--repo", str(place / "shop"), "--state", str(place / "state")]
        model = ["--set", "roles.default.model=openai/local", "--set", "roles.default.api_base=http://127.0.0.1:9/v1"]
        verbs = {
            "--version": ["--version"],
            "status --json": ["status", "--json", *where],
            "doctor": ["doctor", *where, "--gate", GATE, *model],
        }
        idle = statistics.median(cpu_ms([sys.executable, "-c", "pass"]) for _ in range(ROUNDS))
        print(f"python alone: {idle:.0f} ms CPU\n{'verb':16} {'median':>8} {'max':>8} {'bound':>8} {'ratio':>6}")
        judged = [_is_light(name, [*orchestrate, *words], words) for name, words in verbs.items()]
        name, line = "complete a task", f"orchestrate show {' '.join(where)} d"
        asked = ["env", "_ORCHESTRATE_COMPLETE=bash_complete", f"COMP_WORDS={line}", f"COMP_CWORD={line.count(' ')}"]
        judged.append(_is_within(name, [cpu_ms([*asked, *orchestrate]) for _ in range(ROUNDS)], BOUNDS_MS[name]))
        engine = [sys.executable, "-c", ENGINE]
        name = "engine's import"
        judged.append(_is_within(name, [cpu_ms(engine) for _ in range(ROUNDS + 1)][1:], BOUNDS_MS[name]))
        times = [foreground_ms(orchestrate, where) for _ in range(STARTS)]
        judged.append(_is_within("run: foreground", times, BOUNDS_MS["run: foreground"]))
        print("by the clock")
        waits: Mapping[str, Callable[[], float]] = {
            "watch: header": lambda: until_shown_ms([*orchestrate, "watch", *where], HEADER),
            "nobody to ask": lambda: refused_ms([*orchestrate, "run", "-", *where]),
        }
        judged += [_is_within(name, [wait() for _ in range(ROUNDS)], WAITS_MS[name]) for name, wait in waits.items()]
    sys.exit(0 if all(judged) else 1)


def foreground_ms(orchestrate: Sequence[str], where: Sequence[str]) -> float:
    """CPU time of `run` in the terminal for a scripted goal, without its engine, which has ended afterwards."""
    with resources.as_file(resources.files("orchestrator.demo")) as scripts:
        models = []
        for role in ("planner", "worker", "judge"):
            models += ["--model", f"{role}=scripted:{scripts / 'goal.toml'}"]
        given = ["make it better", "--gate", GATE, "--detach", "--set", "budget.calls=1", *models]
        used = cpu_ms([*orchestrate, "run", *given, *where])
    while _has_engine(orchestrate, where):
        time.sleep(SETTLE_S)
    return used


def _has_engine(orchestrate: Sequence[str], where: Sequence[str]) -> bool:
    done = subprocess.run([*orchestrate, "status", "--json", *where], capture_output=True, text=True, check=True)
    return bool(json.loads(done.stdout)["is_live"])


def have_byte_code(folder: Path) -> None:
    """Have every process that is started from here keep its byte code in a folder, whatever the environment says."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def until_shown_ms(words: Sequence[str], wanted: bytes) -> float:
    """From the start of a command in a terminal to the moment at which it has drawn something; then it is ended."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    begun = time.monotonic()
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as process:
        os.close(theirs)
        drawn = b""
        while wanted not in drawn:
            if not select.select([ours], [], [], DEADLINE_S)[0]:
                process.kill()
                sys.exit(f"{' '.join(words)} draws no {wanted.decode()} within {DEADLINE_S} s")
            try:
                drawn += os.read(ours, 1 << 16)
            except OSError:  # nobody has the terminal open any more
                sys.exit(f"{' '.join(words)} ended without {wanted.decode()}:\n{drawn.decode(errors='replace')}")
        waited = time.monotonic() - begun
        process.send_signal(signal.SIGKILL)
        os.close(ours)
    return waited * 1000


def refused_ms(words: Sequence[str]) -> float:
    """From the start of a command that would have to ask, with standard input closed, to its end with exit 2."""
    begun = time.monotonic()
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *words], capture_output=True, check=False)
    waited = time.monotonic() - begun
    if done.returncode != 2:
        sys.exit(f"{' '.join(words)} exits {done.returncode}, not 2")
    return waited * 1000


def _is_light(name: str, command: Sequence[str], words: Sequence[str]) -> bool:
    wrong = list_loaded(words) & set(FORBIDDEN_TO.get(name, FORBIDDEN))
    is_within = _is_within(name, [cpu_ms(command) for _ in range(ROUNDS)], BOUNDS_MS[name])
    if wrong:
        print(f"  loads {', '.join(sorted(wrong))}")
    return is_within and not wrong


def _is_within(name: str, times: Sequence[float], bound: float) -> bool:
    median = statistics.median(times)
    print(f"{name:16} {median:6.0f}ms {max(times):6.0f}ms {bound:6.0f}ms {median / bound:6.2f}")
    return median < bound


if __name__ == "__main__":
    main()
