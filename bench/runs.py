"""Measure the lists of all runs: 500 runs in 20 repositories, as `runs` prints them and as the dashboard shows them.

    python -m bench.runs [--rounds 9]
    BENCH_PLANT=2 python -m bench.runs        # with verbs of ours that take twice the CPU, to see that it shows

`clock` is from the command to the last line, to the first rows on a terminal of 120×40, or to the keys that the list
takes; `own` is the CPU time of the process until then, which neighbours disturb least. `bare` is an app of Textual's
own that shows a table of 50 rows: what a list that is drawn by it cannot go below. Leaves with 1 if a bar is passed, or
if `runs` loads what it must not. On a busy machine (BENCH_ANY_LOAD=1) only `own` is judged.
"""

import argparse
import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.measuring import Bar, Round, read_planted_factor, report_rounds, require_quiet_machine, run_rounds
from bench.startup import DEADLINE_S, FORBIDDEN, have_byte_code, list_loaded

RUNS, REPOSITORIES = 500, 20
MOST_S = 0.5
FIGURES = ("runs", "first rows")
PLANTED = """
import sys, time
until = time.process_time() + float(sys.argv.pop(1))
while time.process_time() < until:
    pass
from orchestrator.cli.main import main
main()
"""
BARE = """
from textual.app import App
from textual.widgets import DataTable
class Bare(App):
    def compose(self):
        yield DataTable()
    def on_mount(self):
        table = self.query_one(DataTable)
        table.add_columns("run", "goal")
        for number in range(50):
            table.add_row(f"row-{number}", "goal")
Bare().run()
"""


class Took(NamedTuple):
    """Seconds by the clock, and of CPU time of the process."""

    clock: float
    own: float


def make_many_runs(place: Path) -> Path:
    """Return a state directory that holds one finished scripted run 500 times, in 20 repositories."""
    demo, many = place / "demo", place / "many"
    words = [sys.executable, "-m", "orchestrator", "demo", "--kind", "goal", "--dir", str(demo)]
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    run = next((demo / "state").glob("*/runs/*"))
    for number in range(RUNS):
        name = f"shop{number % REPOSITORIES}-{number % REPOSITORIES:08x}"
        shutil.copytree(run, many / name / "runs" / f"20260101-{number:06}-{number:04x}")
    return many


def time_command(words: Sequence[str]) -> Took:
    """Run a command to its end."""
    begun = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)} exits {process.returncode}")
    return Took(time.monotonic() - begun, used.ru_utime + used.ru_stime)


def time_screen(words: Sequence[str], *wanted: bytes) -> list[Took]:
    """Run a command in a terminal, until it has drawn all that is wanted, in order; then end it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name != "CI"} | {"TERM": "xterm-256color"}
    begun, found, drawn = time.monotonic(), list[Took](), b""
    with subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=environ
    ) as process:
        os.close(theirs)
        while len(found) < len(wanted):
            if not select.select([ours], [], [], DEADLINE_S)[0]:
                process.kill()
                sys.exit(f"{' '.join(words)} draws no {wanted[len(found)].decode()} within {DEADLINE_S} s")
            drawn += os.read(ours, 1 << 16)
            while len(found) < len(wanted) and wanted[len(found)] in drawn:
                found.append(Took(time.monotonic() - begun, _read_cpu_s(process.pid)))
        process.kill()
    os.close(ours)
    return found


def _read_cpu_s(process: int) -> float:
    """Return the CPU time of a process by the scheduler, to the microsecond, over all its threads."""
    nanoseconds = 0
    for thread in Path(f"/proc/{process}/task").iterdir():
        nanoseconds += int((thread / "schedstat").read_text(encoding="ascii").split()[0])
    return nanoseconds / 1e9


def measure_round(command: Sequence[str], state: Path) -> Round:
    """Measure each once."""
    last = f"20260101-{RUNS - 1:06}".encode()
    printed = time_command([*command, "runs", "--limit", str(RUNS), "--state", str(state)])
    rows, keys = time_screen([*command, "watch", "--all", "--state", str(state)], last, b" leave")
    (bare,) = time_screen([sys.executable, "-c", BARE], b"row-3")
    found: Mapping[str, Took] = {"runs": printed, "first rows": rows, "takes keys": keys, "bare": bare}
    figures: dict[str, float] = {}
    for name, took in found.items():
        figures |= {f"{name}, clock s": took.clock, f"{name}, own s": took.own}
    return figures


def main() -> None:
    """Measure, print, judge."""
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=9)
    given = options.parse_args()
    require_quiet_machine()
    kinds = ("own",) if os.environ.get("BENCH_ANY_LOAD") else ("own", "clock")
    bars = [Bar(f"{name}, {kind} s", MOST_S) for name in FIGURES for kind in kinds]
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        have_byte_code(place / "byte-code")
        state = make_many_runs(place)
        command = [sys.executable, "-m", "orchestrator"]
        used = measure_round(command, state)["runs, own s"]  # and the byte code is there afterwards
        if (factor := read_planted_factor()) != 1:
            command = [sys.executable, "-c", PLANTED, str((factor - 1) * used)]
        wrong = list_loaded(["runs", "--state", str(state)]) & set(FORBIDDEN)
        rounds = run_rounds(given.rounds, lambda: measure_round(command, state))
    if wrong:
        print(f"runs loads {', '.join(sorted(wrong))}")
    sys.exit(report_rounds(f"{RUNS} runs in {REPOSITORIES} repositories", rounds, bars) or bool(wrong))


if __name__ == "__main__":
    main()
