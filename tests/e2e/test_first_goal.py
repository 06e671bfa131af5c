"""The first goal of README and docs/first-goal.md against a server on this machine: each command works in order."""

import re
import shlex
from pathlib import Path

import pytest

from orchestrator.demo.runs import DEMO_GOAL
from tests.running.cli import environment
from tests.running.in_process import orchestrate
from tests.running.projects import git, shop
from tests.running.serving import model_server

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "orchestrator" / "demo"
CONFIG = """
[roles.default]
api_base = "{url}"
api_key_env = "MY_KEY"
[roles.planner]
model = "openai/planner"
[roles.worker]
model = "openai/worker"
[roles.worker.variants.strong]
model = "openai/worker-strong"
[roles.judge]
model = "openai/judge"
[budget]
tokens = 2_000_000
"""


def list_guide_commands() -> list[str]:
    """Return the commands of docs/first-goal.md from the section on the project on, in their order."""
    text = (ROOT / "docs" / "first-goal.md").read_text().partition("## 3.")[2]
    return re.findall(r"^\$ (.+)$", text, re.MULTILINE)


def list_readme_commands() -> list[str]:
    """Return the commands of README's first goal but the change of directory, in their order."""
    section = (ROOT / "README.md").read_text().partition("## Your first goal")[2].partition("\n## ")[0]
    commands = re.findall(r"^    (orchestrate .+|git .+)$", section, re.MULTILINE)
    return [command.replace('"add OAuth login"', '"GOAL"') for command in commands]


@pytest.mark.parametrize("commands", [list_guide_commands(), list_readme_commands()], ids=["guide", "readme"])
def test_every_command_of_the_first_goal_works_in_its_order(commands: list[str], tmp_path: Path) -> None:
    assert len(commands) > 8
    shop(tmp_path)
    repo, branch, task = tmp_path / "shop", "", ""
    git(repo, "config", "user.name", "Ada")
    scripts = (DEMO / "goal.toml", DEMO / "goal-strong.toml")
    with (
        model_server(scripts, tmp_path / "server.json") as url,
        model_server(scripts, tmp_path / "plans.json") as plans_url,  # a server says each line of a script once
    ):
        own = tmp_path / "xdg" / "orchestrate" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text(CONFIG.format(url=url))
        env = environment(tmp_path, MY_KEY="sk-not-a-secret", XDG_CONFIG_HOME=str(tmp_path / "xdg"))
        env["XDG_STATE_HOME"] = str(tmp_path / "state")
        for line in commands:
            words = [
                word.replace("GOAL", DEMO_GOAL).replace("BRANCH", branch).replace("TASK", task)
                for word in shlex.split(line)
            ]
            if words[0] == "git":
                for part in " ".join(map(shlex.quote, words)).replace("'&&'", "&&").split("&&"):
                    git(repo, *shlex.split(part)[1:])
            elif words[1] != "watch":
                plans = {"ORCHESTRATE__ROLES__DEFAULT__API_BASE": plans_url} if words[1] == "plan" else {}
                done = orchestrate(*words[1:], cwd=repo, env={**env, **plans})
                assert done.code == 0, (line, done.out, done.err)
                if words[1] == "run":
                    [merge] = re.findall(r"^merge it: git switch main && git merge (\S+)$", done.err, re.MULTILINE)
                    branch = merge
                elif words[1] == "status":
                    status = orchestrate(*words[1:], "--json", cwd=repo, env=env).json
                    task = next(one["id"] for one in status["plan"] if one["status"] == "merged")
    assert branch
    assert git(repo, "log", "--format=%P", "main", "-1").count(" ") == 0, "one commit a task, no merges"
    assert git(repo, "status", "--porcelain") == ""
