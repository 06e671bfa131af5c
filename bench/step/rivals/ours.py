"""Orchestrate through litellm: a run in this process with sandbox, journal, gate and judge.

python -m bench.step.rivals.ours URL AGENTS STEPS

BENCH_PLANT_MS burns so many milliseconds of CPU with every reply of a model: to see that a slower step shows.
"""

import os
import tempfile
from pathlib import Path

import anyio

from bench.measuring import burn_cpu
from bench.step.rivals.measuring import measure_steps
from orchestrator.app.run_execution import run_goal
from orchestrator.domain.chat import Reply, Request
from orchestrator.llm.litellm_adapter.client import LiteLLMClient
from orchestrator.project.options import Options
from tests.running.projects import calculator


async def run_agents(url: str, agents: int, scratch: Path) -> None:
    """Carry a goal of one task for each agent to its end."""
    repository = calculator(scratch / "repository")
    os.environ["BENCH_KEY"] = "sk-bench-loopback"
    roles = {}
    for role in ("planner", "worker", "judge"):
        roles[role] = {"model": f"openai/{role}", "api_base": url, "api_key_env": "BENCH_KEY", "max_turns": 1_000}
    settings = {
        "gate": {"command": "true", "report": "exit-code", "reruns": 0},
        "roles": roles,
        "state": {"dir": str(scratch / "state")},
        "run": {"max_workers": agents},
        "plan": {"max_children": 10_000, "debounce_s": 3600},
    }
    ended = await run_goal(Options(repository, settings), "write many files", None)
    if ended.exit_code or len(ended.state.tasks) != agents + 1:
        raise SystemExit(f"the run did not end as done: {ended.error or ended.state.ended}")


def plant_slowdown(milliseconds: float) -> None:
    """Burn CPU after every reply of a model."""
    answer = LiteLLMClient.request_completion

    async def answer_late(client: LiteLLMClient, request: Request) -> Reply:
        reply = await answer(client, request)
        burn_cpu(milliseconds / 1_000)
        return reply

    LiteLLMClient.request_completion = answer_late  # type: ignore[method-assign,assignment]


def run_goal_of_agents(url: str, agents: int) -> None:
    """Make a repository, and carry the goal out in it."""
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as scratch:
        anyio.run(run_agents, url, agents, Path(scratch))


if __name__ == "__main__":
    if planted := float(os.environ.get("BENCH_PLANT_MS", "0")):
        plant_slowdown(planted)
    measure_steps(run_goal_of_agents)
