"""What a forge does with a workflow file, as far as ours uses it: events, conditions, expressions, jobs, steps.

Every script is run by bash as it stands. Actions are stood in for by what they do: a clone, a store of artifacts.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.running.cli import environment
from tests.running.projects import git

_TOKEN = re.compile(r"'(?:[^']|'')*'|[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*|&&|\|\||!=|==|!|[(),]|\d+|\s+")
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_OPERATORS = {"&&": " and ", "||": " or ", "!": " not "}
_WORDS = {"true": "True", "false": "False", "null": "None"}


def evaluate(expression: str, context: Mapping[str, Any]) -> Any:
    """The value of an expression; names are looked up in the context, those that are not there are nothing."""
    python, place = "", 0
    while place < len(expression):
        found = _TOKEN.match(expression, place)
        assert found, f"no expression: {expression[place:]!r}"
        python += _as_python(found[0], expression[found.end() :])
        place = found.end()
    functions = {
        "startsWith": lambda text, start: str(text or "").lower().startswith(start.lower()),
        "contains": lambda where, what: what in where,
        "fromJSON": json.loads,
        "always": lambda: True,
        "cancelled": lambda: context.get("cancelled", False),
        "name": lambda path: _looked_up(context, path.split(".")),
    }
    return eval(" ".join(python.split()), {"__builtins__": {}}, functions)


def _as_python(token: str, rest: str) -> str:
    if token in _OPERATORS or token in _WORDS:
        return _OPERATORS.get(token) or _WORDS[token]
    if token[0] == "'":
        return repr(token[1:-1].replace("''", "'"))
    if token[0].isalpha() and not rest.lstrip().startswith("("):
        return f"name({token!r})"
    return token


def _looked_up(value: Any, path: list[str]) -> Any:
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def rendered(text: str, context: Mapping[str, Any]) -> str:
    """A text with the values of its expressions."""

    def shown(found: re.Match[str]) -> str:
        value = evaluate(found[1].strip(), context)
        if value is None or isinstance(value, bool):
            return "" if value is None else str(value).lower()
        return str(value)

    return _EXPRESSION.sub(shown, text)


@dataclass
class JobDone:
    """`results` are the outcomes of steps by name or id, `outputs` the job's, `said` what its scripts printed."""

    result: str = "success"
    results: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    said: str = ""


@dataclass
class Actions:
    """A repository at `remote` with a workflow. `programs` stand before all others; `env` is what every job has."""

    place: Path
    remote: Path
    workflow: str
    secrets: Mapping[str, str]
    tokens: Mapping[str, str]
    env: Mapping[str, str] = field(default_factory=dict)
    vars: Mapping[str, str] = field(default_factory=dict)
    runs: int = 0

    @property
    def programs(self) -> Path:
        """Where scripts find `gh` and what else is stood in for."""
        return self.place / "bin"

    @property
    def document(self) -> dict[str, Any]:
        """The workflow, read as texts."""
        return yaml.load(self.workflow, Loader=yaml.CBaseLoader)

    def program(self, name: str, script: str) -> None:
        """Have a program of this name; what it is called with is kept, see `calls`."""
        self.programs.mkdir(exist_ok=True)
        path = self.programs / name
        note = f'{{ printf "%s" "$GH_TOKEN|"; printf "%s\\0" "$@"; printf "\\036"; }} >> {self.programs}/{name}.calls'
        path.write_text(f"#!/bin/bash\n{note}\n{script}\n")
        path.chmod(0o755)

    def orchestrate(self) -> None:
        """Have `orchestrate`, and nothing that installs it."""
        self.programs.mkdir(exist_ok=True)
        path = self.programs / "orchestrate"
        path.write_text(f'#!/bin/bash\nexec {sys.executable} -m orchestrator "$@"\n')
        path.chmod(0o755)
        self.program("python", "exit 0")
        self.program("sudo", "exit 0")

    def calls(self, name: str) -> list[tuple[str, list[str]]]:
        """The calls of a program: the token it had, and its arguments."""
        path = self.programs / f"{name}.calls"
        calls = path.read_text().split("\x1e")[:-1] if path.exists() else []
        return [(call.partition("|")[0], call.partition("|")[2].split("\0")[:-1]) for call in calls]

    def event(self, name: str, payload: Mapping[str, Any]) -> dict[str, JobDone]:
        """All jobs that an event starts, in their order; those that it does not start are not there."""
        self.runs += 1
        context = {
            "github": {"event_name": name, "event": payload, "run_id": str(self.runs)},
            "inputs": payload.get("inputs", {}),
            "secrets": self.secrets,
            "vars": self.vars,
            "needs": {},
        }
        done: dict[str, JobDone] = {}
        for job, what in self.document["jobs"].items():
            needs = {need: vars(done[need]) for need in [what["needs"]] if need in done} if "needs" in what else {}
            here = context | {"needs": needs}
            if ("needs" in what and not needs) or not evaluate(" ".join(what["if"].split()), here):
                continue
            done[job] = self._job(job, what, here)
        return done

    def _job(self, name: str, job: Mapping[str, Any], context: Mapping[str, Any]) -> JobDone:
        home = self.place / f"run{self.runs}-{name}"
        (home / "temp").mkdir(parents=True)
        token = self.tokens["write" if "write" in job["permissions"].values() else "read"]
        steps: dict[str, Any] = {}
        here = {
            **context,
            "github": {**context["github"], "token": token},
            "runner": {"temp": str(home / "temp")},
            "steps": steps,
        }
        done = JobDone()
        for number, step in enumerate(job["steps"]):
            key = step.get("id") or step.get("name") or str(number)
            outcome = self._step(home, step, here, done)
            done.results[key] = outcome
            steps[key] = {"outcome": outcome, "outputs": _outputs(home / "output")}
            (home / "output").unlink(missing_ok=True)
            if outcome == "failure" and step.get("continue-on-error") != "true":
                done.result = "failure"
        done.outputs = {key: rendered(text, here) for key, text in job.get("outputs", {}).items()}
        return done

    def _step(self, home: Path, step: Mapping[str, Any], context: Mapping[str, Any], done: JobDone) -> str:
        condition = step.get("if", "")
        if done.result == "failure" and "always()" not in condition:
            return "skipped"
        if condition and not evaluate(condition, context):
            return "skipped"
        if "uses" in step:
            return self._action(home, step, context)
        return self._script(home, step, context, done)

    def _action(self, home: Path, step: Mapping[str, Any], context: Mapping[str, Any]) -> str:
        name, given = step["uses"].partition("@")[0], step.get("with", {})
        store, place = self.place / f"artifacts{self.runs}", rendered(given.get("path", ""), context)
        match name:
            case "actions/checkout":
                git(home, "clone", "-q", str(self.remote), "clone")
            case "actions/upload-artifact":
                if not Path(place).is_dir() or not [*Path(place).iterdir()]:
                    return "failure"
                shutil.copytree(place, store / given["name"])
                (home / "output").write_text(f"artifact-id={self.runs}\n")
            case "actions/download-artifact":
                shutil.copytree(store / given["name"], place)
            case _:
                assert name == "actions/setup-python", name
        return "success"

    def _script(self, home: Path, step: Mapping[str, Any], context: Mapping[str, Any], done: JobDone) -> str:
        clone = home / "clone"
        (home / "script.sh").write_text(step["run"])
        (home / "event.json").write_text(json.dumps(context["github"]["event"]))
        given = {
            key: rendered(value, context) for key, value in {**self.document["env"], **step.get("env", {})}.items()
        }
        env = environment(
            home,
            GITHUB_ACTIONS="true",
            GITHUB_REPOSITORY="octo/demo",
            GITHUB_REF_NAME="main",
            GITHUB_EVENT_NAME=context["github"]["event_name"],
            GITHUB_EVENT_PATH=str(home / "event.json"),
            GITHUB_OUTPUT=str(home / "output"),
            GITHUB_STEP_SUMMARY=str(home / "summary.md"),
            GITHUB_RUN_ID=context["github"]["run_id"],
            RUNNER_TEMP=str(home / "temp"),
        )
        path = {"PATH": f"{self.programs}{os.pathsep}{env['PATH']}"}
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(home / "script.sh")],
            cwd=clone if clone.exists() else home,
            env={**env, **path, **self.env, **given},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        done.said += f"$ {step.get('name', '')}\n{ran.stdout}{ran.stderr}"
        return "failure" if ran.returncode else "success"


def _outputs(path: Path) -> dict[str, str]:
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.split("=", 1) for line in lines)
