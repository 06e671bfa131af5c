"""Common parts of measurements: processes and their costs, rounds, medians, tables, a quiet machine."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

SETTLE_S = 60.0
"""So long a measurement waits for a machine that is busy before it gives up."""
Round = Mapping[str, float]
"""The figures of one round, by name."""


@dataclass(frozen=True)
class Bar:
    """A bound on the median of a figure: at most, or at least if `is_floor`."""

    figure: str
    bound: float
    is_floor: bool = False

    def is_held(self, value: float) -> bool:
        """Return True if a figure is within the bound."""
        return value >= self.bound if self.is_floor else value <= self.bound


def require_quiet_machine(most_load: float | None = None) -> None:
    """Wait until others leave the machine alone; exit if they do not: a busy one measures its neighbours.

    Args:
        most_load: processes that run or want to, half of the cores by default. BENCH_ANY_LOAD=1 takes any.
    """
    if os.environ.get("BENCH_ANY_LOAD"):
        return
    most = (os.cpu_count() or 1) / 2 if most_load is None else most_load
    until = time.monotonic() + SETTLE_S
    while (busy := count_busy_cores()) > most:
        if time.monotonic() > until:
            sys.exit(f"{busy:.1f} cores are busy with other work: measure when they are not, or set BENCH_ANY_LOAD=1")


def count_busy_cores(seconds: float = 1.0) -> float:
    """Return how many cores worked during the next seconds."""
    before = _read_busy_ticks()
    time.sleep(seconds)
    return (_read_busy_ticks() - before) / os.sysconf("SC_CLK_TCK") / seconds


def _read_busy_ticks() -> int:
    """Return the ticks in which any core worked: user, nice, system, interrupts."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return sum(fields[:3]) + sum(fields[5:7])


def run_printing(words: Sequence[str], cwd: Path | None = None) -> dict[str, float]:
    """Run a program that prints its figures as a JSON object in its last line, and return them."""
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)} exits {done.returncode}:\n{done.stderr[-2_000:]}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def run_rounds(count: int, measure: Callable[[], Round]) -> list[Round]:
    """Measure so often; each round holds all rivals, so that a machine that changes changes for all."""
    rounds = []
    for number in range(count):
        rounds.append(measure())
        print(f"round {number + 1} of {count}: {format_figures(rounds[-1])}", flush=True)
    return rounds


def summarize_rounds(rounds: Sequence[Round]) -> dict[str, tuple[float, float, float]]:
    """Return least, median and most of every figure."""
    summed = {}
    for name in rounds[0]:
        values = [one[name] for one in rounds]
        summed[name] = (min(values), statistics.median(values), max(values))
    return summed


def report_rounds(title: str, rounds: Sequence[Round], bars: Sequence[Bar]) -> int:
    """Print a table of all figures with their bars, write it as JSON where BENCH_JSON names a folder.

    Returns:
        1 if a median is past its bar.
    """
    summed, past = summarize_rounds(rounds), 0
    bounds = {bar.figure: bar for bar in bars}
    width = max(map(len, summed))
    print(f"{title}: median of {len(rounds)} (least to most)")
    for name, (least, middle, most) in summed.items():
        line = f"  {name:{width}} {middle:9.3g}  ({least:.3g} to {most:.3g})"
        if name in bounds:
            bar = bounds[name]
            is_held = bar.is_held(middle)
            past |= not is_held
            line += f"  {'at least' if bar.is_floor else 'at most'} {bar.bound:g}{'' if is_held else '  PAST'}"
        print(line, flush=True)
    write_json(title, {"rounds": list(rounds), "bars": [asdict(bar) for bar in bars]})
    return int(past)


def read_planted_factor() -> float:
    """Return the factor by which BENCH_PLANT makes ours slower, to see that a benchmark shows it: 1 without it."""
    return float(os.environ.get("BENCH_PLANT", "1"))


def burn_cpu(seconds: float) -> None:
    """Use so much CPU time of this process."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def write_json(title: str, content: Mapping[str, object]) -> None:
    """Write what was measured to a file of its own, if BENCH_JSON names a folder."""
    if folder := os.environ.get("BENCH_JSON"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        name = "".join(letter if letter.isalnum() else "-" for letter in title)
        Path(folder, f"{name}.json").write_text(json.dumps({"title": title, **content}, indent=1) + "\n")


def format_figures(figures: Round) -> str:
    """Return figures in one line."""
    return ", ".join(f"{name} {value:.3g}" for name, value in figures.items())
