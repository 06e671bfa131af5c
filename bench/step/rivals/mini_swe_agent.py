"""mini-swe-agent through litellm, one thread for each agent, its trajectory saved at each step.

python mini_swe_agent.py URL AGENTS STEPS
"""

import os
import tempfile
import threading
from pathlib import Path

from measuring import measure_steps

os.environ |= {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "MSWEA_COST_TRACKING": "ignore_errors",
    "MSWEA_SILENT_STARTUP": "1",
    "OPENAI_API_KEY": "sk-bench",
}


def run_agent(url: str, place: Path) -> None:
    """Hold one conversation to its end."""
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.environments.local import LocalEnvironment
    from minisweagent.models.litellm_model import LitellmModel

    model = LitellmModel(model_name="openai/mini", model_kwargs={"api_base": url}, cost_tracking="ignore_errors")
    texts = {"system_template": "You work.", "instance_template": "Do it: {{task}}"}
    agent = DefaultAgent(model, LocalEnvironment(), cost_limit=0, output_path=place, **texts)
    ended = agent.run("the task")
    if ended.get("exit_status") != "Submitted":
        raise SystemExit(f"mini-swe-agent ended otherwise: {ended}")


def run_agents(url: str, agents: int) -> None:
    """Hold so many conversations at once."""
    with tempfile.TemporaryDirectory() as scratch:
        threads = []
        for number in range(agents):
            threads.append(threading.Thread(target=run_agent, args=(url, Path(scratch, f"{number}.json"))))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    measure_steps(run_agents)
