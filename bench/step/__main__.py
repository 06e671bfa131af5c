"""Measure what a step of an agent costs, ours and others', against the same model server.

    python -m bench.step             # one round of the short cases
    FULL=1 python -m bench.step      # two rounds, also of 150 steps, and one of other harnesses

A step is one reply of the model and the command that it calls. In one process of a harness a run with a single step and
one with all are measured, after another one: the difference is what further steps cost, without imports, planning,
gate and judging. These differ from run to run, so short cases take the median of some pairs. Children are shown apart.
Ours is a whole run: sandbox, journal with fsync, snapshots. The others run their commands in the open. The peers'
environment is made by `make bench-peers`.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench.measuring import Bar, report_rounds, require_quiet_machine, run_printing, run_rounds

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PEERS = Path(os.environ.get("BENCH_PEERS", ROOT / ".venv-peers")) / "bin" / "python"
RIVALS, OTHERS = ("ours", "mini", "parts", "bound"), ("lean", "pydantic-ai", "langgraph")
"""The harnesses of each round, and those that are measured once as they have no bar."""
MOST_OF_PEER, MOST_OF_PEER_LONG, MOST_GROWTH, MOST_MB = 0.6, 0.35, 1.5, 1.0
"""Bars of CPU against mini-swe-agent's, of the growth from 20 to 150 steps, and of memory for each further agent."""


@dataclass(frozen=True)
class Case:
    """So many agents at once, each with so many steps, whose commands print so many bytes.

    `pairs` says how often a process measures a run with one step and one with all.
    """

    agents: int
    steps: int
    output_bytes: int = 0
    pairs: int = 1

    @property
    def name(self) -> str:
        """The case in words."""
        printed = f", {self.output_bytes} bytes each" if self.output_bytes else ""
        return f"{self.agents} x {self.steps} steps{printed}"


def main() -> int:
    """Print the tables; return 1 if a bar is not held."""
    if not PEERS.exists():
        sys.exit(f"{PEERS} is missing: run `make bench-peers`, or name another environment by BENCH_PEERS")
    require_quiet_machine()
    is_full = bool(os.environ.get("FULL"))
    cases = [Case(1, 20, pairs=3), Case(64, 20, pairs=2)]
    if is_full:
        cases.insert(1, Case(1, 150, 4_096))
    rounds, past, medians = int(os.environ.get("ROUNDS", "2" if is_full else "1")), 0, {}
    for case in cases:
        measured = run_rounds(rounds, partial(measure_case, case))
        bars = [Bar("ours / mini", MOST_OF_PEER_LONG if case.steps > 100 else MOST_OF_PEER)]
        if case.agents > 1:
            bars.append(Bar("ours: MB an agent", MOST_MB))
        past |= report_rounds(f"step: {case.name}, ms of CPU a step", measured, bars)
        medians[case] = statistics.median(one["ours"] for one in measured)
        if is_full:
            others = run_rounds(1, partial(measure_harnesses, replace(case, pairs=1), OTHERS))
            report_rounds(f"step: {case.name}, ms of CPU a step of others", others, [])
    if is_full:
        growth = {"150 / 20 steps": medians[cases[1]] / medians[cases[0]]}
        past |= report_rounds("step: growth of ours", [growth], [Bar("150 / 20 steps", MOST_GROWTH)])
    return past


def measure_case(case: Case) -> dict[str, float]:
    """Return the figures of one round: CPU milliseconds a step of each harness, and ratios."""
    figures = measure_harnesses(case, RIVALS)
    for name in ("ours", "parts", "bound"):
        figures[f"{name} / mini"] = figures[name] / figures["mini"]
    if case.agents > 1:
        alone = run_harness("ours", replace(case, agents=1))
        figures["ours: MB an agent"] = (figures["ours: rss_mb"] - alone["rss_mb"]) / (case.agents - 1)
    return figures


def measure_harnesses(case: Case, harnesses: Sequence[str]) -> dict[str, float]:
    """Return CPU milliseconds a step of each harness, then what else was measured of each."""
    costs = {harness: run_harness(harness, case) for harness in harnesses}
    figures = {harness: cost["cpu_ms"] for harness, cost in costs.items()}
    for harness, cost in costs.items():
        figures |= {f"{harness}: {name}": cost[name] for name in ("children_ms", "wall_s", "rss_mb")}
    return figures


def run_harness(name: str, case: Case) -> dict[str, float]:
    """Run one harness against a server of its own."""
    with serve_model(case) as url:
        words = {
            "ours": [sys.executable, "-m", "bench.step.rivals.ours"],
            "parts": [sys.executable, "-m", "bench.step.rivals.parts"],
            "bound": [sys.executable, "-m", "bench.step.rivals.bound"],
            "lean": [sys.executable, str(HERE / "rivals" / "lean.py")],
            "mini": [str(PEERS), str(HERE / "rivals" / "mini_swe_agent.py")],
            "pydantic-ai": [str(PEERS), str(HERE / "rivals" / "pydantic_ai_agents.py")],
            "langgraph": [str(PEERS), str(HERE / "rivals" / "langgraph_agents.py")],
        }[name]
        sizes = map(str, (case.agents, case.steps, case.pairs))
        return run_printing([*words, url, *sizes], cwd=ROOT)


@contextmanager
def serve_model(case: Case) -> Iterator[str]:
    """Run a model server in a process of its own; yields its URL."""
    options = ["--bytes", str(case.output_bytes), "--agents", str(case.agents)]
    words = [sys.executable, "-m", "bench.step.model_server", *options]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
