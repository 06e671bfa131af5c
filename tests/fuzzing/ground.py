"""The ground that cases stand on: a repository with runs that ended, one that waits, and what their journals hold.

It is made once, at the place where every case finds its own copy of it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from tests.fuzzing.case_process import Refuted
from tests.running.cli import Finished, environment
from tests.running.in_process import orchestrate
from tests.running.projects import GATE, calculator, git
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, write_script, writes

RECIPE = """\
schema = 1

[migration]
id = "swap"

[scope]
include = ["*.py"]

[[scope.site]]
id = "sum"
pattern = "a [+] b"

[[step]]
id = "sed"
run = "sed -i 's/a + b/b + a/' {files}"

[verify]
report = "unittest"
coverage = false

[[verify.check]]
id = "tests"
run = "python3 -m unittest -v"
"""
CODES = frozenset({0, 1, 2, 3, 4, 5, 6, 7, 8, 75, 125, 126, 127, 128, 130, 137, 141, 143})
_LEAKS = (
    "Traceback (most recent call last)",
    "errors.pydantic.dev",
    "object at 0x",
    "ended without a word",
    "coroutine '",
)


@dataclass(frozen=True)
class Ground:
    """The places of a case: `repo` is the repository, `home` holds it, its runs' state, a recipe and a script."""

    home: Path

    @property
    def repo(self) -> Path:
        """The repository."""
        return self.home / "repo"

    @property
    def state(self) -> Path:
        """The state directory."""
        return self.home / "state"

    @property
    def where(self) -> tuple[str, ...]:
        """The options that name both."""
        return ("--repo", str(self.repo), "--state", str(self.state))

    def list_runs(self) -> list[RunDirectory]:
        """Return the runs, oldest first."""
        return StateDirectory.locate_for(self.repo, str(self.state)).list_runs()

    def call_verb(self, *words: str, variables: dict[str, str] | None = None) -> Finished:
        """Run a verb in this process and hold what it printed against what a person may be shown."""
        env = environment(self.home, XDG_STATE_HOME=str(self.home / "xdg-state"), **(variables or {}))
        done = orchestrate(*words, cwd=self.repo, env=env)
        check_verb(done, words)
        for log in self.state.glob("*/runs/*/engine.log"):
            check_text(log.read_text(errors="replace"), words)
        return done


def check_verb(done: Finished, words: Sequence[str]) -> None:
    """Refute a verb that crashed, or left with a code that no documentation has."""
    check_text(done.out + done.err, words)
    is_command = "exec" in words  # leaves with the code of what it ran
    if done.code not in CODES and not is_command:
        raise Refuted(f"exit code {done.code} of {words!r}\n{done.out}{done.err}")
    if done.code and not (done.out + done.err).strip() and not is_command and words[0] != "diff":
        raise Refuted(f"exit code {done.code} without a word, of {words[:3]!r}")
    if "--json" in words and done.code == 0 and words[0] != "logs":
        json.loads(done.out)


def check_text(text: str, words: Sequence[str]) -> None:
    """Refute a text for people that shows the inside of the program."""
    for leak in _LEAKS:
        if leak in text and not any(leak in word for word in words):
            found = text.index(leak)
            near = text[max(0, found - 3_000) : found + 6_000]
            raise Refuted(f"`{words[0]}` shows {leak!r}\n{words!r}\n{near}")


def build_ground(home: Path) -> Ground:
    """Make the repository and its runs: a goal that landed, a migration, a goal that waits for a person."""
    ground = Ground(home)
    calculator(ground.repo)
    (home / "recipe.toml").write_text(RECIPE)
    script = write_script(home / "script.json", build_script())
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={script}")]
    goal = ("run", "make it better", "--gate", GATE, "--set", "gate.report=unittest", *models, *ground.where)
    env = environment(home)
    for words in (
        goal,
        ("migrate", "run", str(home / "recipe.toml"), *ground.where),
        (*goal, "--approval", "review"),
    ):
        done = orchestrate(*words, cwd=ground.repo, env=env)
        assert done.code in {0, 6}, done
    git(ground.repo, "branch", "other")
    return ground


def build_script() -> list[Any]:
    """Return the replies of a goal of two tasks that both land."""
    return [
        plans("root", {"key": "a"}, {"key": "b", "depends_on": ["a"]}),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        writes("b", "b.txt", "b\n"),
        worker_ends("b"),
        reviews("b"),
        planner_ends(),
        judges(),
    ]


def choose_run_name(chance: Random, runs: Sequence[str]) -> str:
    """Return a name of a run as a person may write it, or what is none."""
    run = chance.choice(runs)
    return chance.choice((run, run, run[:8], run[-4:], "latest", "latest", run + "0", run[:-1]))
