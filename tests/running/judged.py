"""Runs of which only the judge is asked through litellm, on the loopback server; everybody else plays a script."""

from collections.abc import Sequence
from typing import Any

from orchestrator.app.run_execution import RunExit, run_goal
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from tests.loopback.judges import Judge
from tests.loopback.server import LoopbackServer
from tests.running.goals import Bench
from tests.running.projects import GATE_FLAGS
from tests.running.scripts import write_script


async def judged_by(
    bench: Bench, judge: Judge, items: Sequence[ScriptedReply], lenses: dict[str, Any] | None = None, **flags: Any
) -> tuple[RunExit, LoopbackServer]:
    """A run under this judge, each attempt the only one; and the server with all that the judge was told."""
    server = LoopbackServer((), answering={"judge": judge})
    script = {"model": write_script(bench.root / "script.json", items)}
    async with server.run() as url:
        asked = {"model": "openai/judge", "api_base": url, "lenses": lenses or {}}
        values = {
            "gate": GATE_FLAGS,
            "roles": {"planner": script, "worker": script, "judge": asked},
            "plan": {"max_children": 100},
            "run": {"max_attempts": 1},
            "state": {"dir": str(bench.root / "state")},
        }
        return await run_goal(Options(bench.repository, values | flags), "make it better"), server
