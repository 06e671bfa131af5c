"""Run measurements one after another, and say at the end which of them held their bars.

    python -m bench                     # all of them, in a short form
    python -m bench --full              # all of them, at full size
    python -m bench step workspace      # some of them

Each is a module of this package in a process of its own. One that is past a bar does not keep the others from being
measured. The environment that makes a form short or full is set only where the caller has not set it.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.measuring import write_json


@dataclass(frozen=True)
class Measurement:
    """A module of this package, and the environment of its two forms."""

    name: str
    short: Mapping[str, str] = field(default_factory=dict)
    full: Mapping[str, str] = field(default_factory=dict)


_ADDITIONS = 10_000_000
_FULL = {"FULL": "1"}
MEASUREMENTS = (
    Measurement("startup"),
    Measurement("runs"),
    Measurement("first_call", full=_FULL),
    Measurement("step", full=_FULL),
    Measurement("journal", full={"BENCH_EVENTS": "1000000"}),
    Measurement("resume"),
    Measurement("many_tasks", full={"TASKS": "100,1000"}),
    Measurement("hands"),
    Measurement("hosts", full=_FULL),
    Measurement("watch"),
    Measurement("workspace", full=_FULL),
    Measurement("churn", full=_FULL),
    Measurement("verdicts", short={"ROUNDS": "1"}),
    Measurement("migrate"),
    Measurement("flakes", short={"CANDIDATES": "200"}),
    Measurement("goal", full={"TASKS": "1000", "WORKERS": "32", "AGENTS": "256", "TURNS": "40"}),
    Measurement("landing", short={"CANDIDATES": "100"}),
    Measurement("queue", full=_FULL),
    Measurement("map"),
    Measurement("code_mode"),
    Measurement("telemetry"),
    Measurement("tui"),
)


@dataclass(frozen=True)
class Outcome:
    """The exit code of a measurement, 0 if all its bars are held, and the seconds that it took."""

    name: str
    exit_code: int
    seconds: float


def main() -> int:
    """Run what the command line names; return 1 unless all bars are held."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Run measurements against their bars.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a module of bench/; all of them without one")
    parser.add_argument("--full", action="store_true", help="measure at full size")
    options = parser.parse_args()
    if unknown := set(options.names) - {one.name for one in MEASUREMENTS}:
        parser.error(f"no such measurement: {', '.join(sorted(unknown))}")
    print(describe_machine(), flush=True)
    outcomes = []
    for one in MEASUREMENTS:
        if not options.names or one.name in options.names:
            outcomes.append(run_measurement(one, one.full if options.full else one.short))
    return report_outcomes(outcomes)


def describe_machine() -> str:
    """Return one line on what all figures depend on: the version and speed of Python, and the number of cores."""
    begun, total = time.process_time(), 0
    for number in range(_ADDITIONS):
        total += number
    seconds = time.process_time() - begun
    return f"Python {platform.python_version()}: {_ADDITIONS:,} additions in {seconds:.2f} s; {os.cpu_count()} cores"


def run_measurement(measurement: Measurement, form: Mapping[str, str]) -> Outcome:
    """Run one module, with its output where ours goes."""
    settings = [f"{name}={value}" for name, value in form.items()]
    print("\n==", *settings, f"python -m bench.{measurement.name}", flush=True)
    begun = time.monotonic()
    words = [sys.executable, "-m", f"bench.{measurement.name}"]
    done = subprocess.run(words, env={**form, **os.environ}, check=False)
    return Outcome(measurement.name, done.returncode, time.monotonic() - begun)


def report_outcomes(outcomes: list[Outcome]) -> int:
    """Print a line for each measurement; return 1 unless all ended well."""
    print("\nall measurements, with their minutes")
    for one in outcomes:
        print(f"  {one.name:12} {one.seconds / 60:6.1f}  {'held' if one.exit_code == 0 else f'EXIT {one.exit_code}'}")
    print(f"  {'together':12} {sum(one.seconds for one in outcomes) / 60:6.1f}", flush=True)
    content = {"outcomes": [{"name": one.name, "exit": one.exit_code, "seconds": one.seconds} for one in outcomes]}
    write_json("all measurements", content)
    return int(any(one.exit_code for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
