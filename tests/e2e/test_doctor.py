"""`doctor` names what a run of the same words would trip over, before a model is called and within a second."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.doctor import gate_trial
from orchestrator.doctor.policy_checks import check_policy
from orchestrator.project.options import Options, load_project_context
from tests.running.cli import Finished, environment
from tests.running.in_process import orchestrate
from tests.running.mcp_servers import server_table
from tests.running.mistakes import add_submodule
from tests.running.projects import GATE, calculator, git

pytestmark = [pytest.mark.sandbox]

LOCAL = ("--set", "roles.default.model=openai/local", "--set", "roles.default.api_base=http://127.0.0.1:9/v1")
WAYS_TO_MEND = (".venv", "deps under [env]", "read_only under [hands]")
UNLOADED = """
import json, sys
from orchestrator.cli.main import main
try:
    main()
finally:
    print(json.dumps(sorted({"litellm", "openai", "textual", "git"} & set(sys.modules))), file=sys.stderr)
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return calculator(tmp_path / "repo")


def doctor(repo: Path, *words: str) -> Finished:
    state = ("--repo", str(repo), "--state", str(repo.parent / "state"))
    return orchestrate("doctor", "--json", *state, *words, cwd=repo.parent)


def details(done: Finished, name: str, *, is_problem: bool) -> str:
    """Return what is said of all findings of a name, of which none or all are problems or warnings."""
    found = [finding for finding in done.json["findings"] if finding["name"] == name]
    assert {is_problem} == {not finding["ok"] for finding in found}, done.out
    return " ".join(finding["detail"] for finding in found)


@pytest.mark.parametrize("gate", ["no-such-program -q", "make-believe && true", "python3 -m no_such_module -q"])
def test_a_gate_whose_program_the_sandbox_lacks_is_a_problem_with_three_ways_to_mend_it(repo: Path, gate: str) -> None:
    done = doctor(repo, "--gate", gate)
    assert done.code == 7
    said = details(done, "gate", is_problem=True)
    assert "not found in the sandbox" in said or "the sandbox has no Python module no_such_module" in said
    assert all(way in said for way in WAYS_TO_MEND)


def test_a_gate_that_starts_is_judged_as_a_run_judges_its_base(repo: Path) -> None:
    green = doctor(repo, "--gate", GATE)
    assert "2 passed, 0 failed" in details(green, "gate", is_problem=False)
    empty = doctor(repo, "--gate", "python3 -m unittest -v -k nothing_here", "--set", "gate.report=unittest")
    assert "ran no test on the base" in details(empty, "gate", is_problem=True)
    red = doctor(repo, "--gate", "echo 'error: no such table'; exit 3")
    assert red.code == 0
    assert "exits 3 on the base" in details(red, "gate", is_problem=True)
    assert "(error: no such table)" in details(red, "gate", is_problem=True)


def test_a_long_gate_is_only_started_unless_its_end_is_asked_for(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_trial, "TRIAL_S", 0.3)
    gate = ("--gate", f"sleep 0.8; {GATE}")
    assert "orchestrate doctor --run-gate" in details(doctor(repo, *gate), "gate", is_problem=False)
    assert "2 passed" in details(doctor(repo, *gate, "--run-gate"), "gate", is_problem=False)


def test_dependencies_go_first_so_that_a_gate_that_needs_them_is_not_tried(repo: Path) -> None:
    done = doctor(repo, "--gate", "no-such-program", "--set", 'env.deps=["requirements.txt"]')
    assert "deps under [env] are installed first" in details(done, "gate", is_problem=False)
    failed = doctor(repo, "--gate", "true", "--set", 'env.deps=["requirements.txt"]', "--run-gate")
    assert "requirements.txt" in details(failed, "gate", is_problem=True)


PRICED = (
    "--set",
    'prices."openai/local".input_usd_per_mtok=1',
    "--set",
    'prices."openai/local".output_usd_per_mtok=1',
)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--budget-usd", "5"), "the $5.00 of [budget] cannot be kept"),
        (("--set", "budget.leaf.usd=0.5"), "the $0.50 of [budget.leaf] cannot be kept"),
        (("--set", "budget.roles.judge.usd=2"), "the $2.00 of [budget.roles.judge] cannot be kept"),
        (("--budget-usd", "5", "--set", "budget.tokens=100000"), ""),
        (("--budget-usd", "5", *PRICED), ""),
        (("--budget-usd", "5", "--set", "roles.default.model=openrouter/x/y", "--set", "roles.default.api_base="), ""),
    ],
)
def test_a_limit_in_dollars_needs_models_of_known_price(repo: Path, words: Sequence[str], said: str) -> None:
    done = doctor(repo, *LOCAL, *words)
    found = details(done, "budget", is_problem=bool(said))
    assert said in found
    if said:
        assert done.code == 7
        assert "Set tokens beside usd" in found


def test_a_run_without_a_limit_is_a_warning(repo: Path) -> None:
    done = doctor(repo, *LOCAL)
    assert done.code == 0
    assert "may spend without limit" in details(done, "budget", is_problem=True)


def test_submodules_are_named_as_empty_directories(repo: Path) -> None:
    add_submodule(repo)
    done = doctor(repo)
    assert done.code == 0
    assert "vendor/library: an empty directory in workspaces" in details(done, "submodules", is_problem=True)


def test_what_a_run_would_refuse_of_the_repository_is_a_problem(repo: Path) -> None:
    git(repo, "branch", "orchestrate")
    done = doctor(repo, "--target", "mian")
    assert done.code == 7
    assert "did you mean main?" in details(done, "target", is_problem=True)
    assert "rename that one" in details(done, "pr prefix", is_problem=True)


def test_directories_that_the_repository_borrows_objects_from_are_named(repo: Path) -> None:
    git(repo.parent, "clone", "-q", "--shared", "repo", "borrower")
    done = doctor(repo.parent / "borrower")
    assert f"some lie in {repo}/.git/objects, which no command sees" in details(
        done, "borrowed objects", is_problem=False
    )


def test_neither_litellm_nor_a_git_library_is_loaded_for_models_and_their_prices(repo: Path) -> None:
    where = ("doctor", "--json", "--repo", str(repo), "--state", str(repo.parent / "state"))
    model = ("--gate", GATE, "--budget-usd", "5", "--set", "roles.default.model=openai/gpt-5-mini")
    done = subprocess.run(
        [sys.executable, "-c", UNLOADED, *where, *model],
        env=environment(repo.parent, OPENAI_API_KEY="sk-test"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stderr.splitlines()[-1]) == []
    findings = {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert findings["budget"]["detail"] == "$5.00 for a run"
    assert findings["model worker"]["ok"]


def test_rules_of_the_project_are_named_with_those_that_no_brief_has_room_for(repo: Path) -> None:
    (repo / "AGENTS.md").write_text("A rule of one line.\n" * 1_000 + "@gone.md\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "rules")
    done = doctor(repo)
    said = details(done, "project rules", is_problem=True)
    assert "AGENTS.md imports `gone.md`, which is no file of the repository at the run's base" in said
    assert "AGENTS.md do not fit wholly into a brief: shorten them, or raise max_chars under [rules]" in said
    assert done.code == 0


async def test_a_policy_is_read_as_a_run_reads_it_and_what_is_wrong_with_it_is_told(repo: Path) -> None:
    denies = '[[rule]]\neffect = "deny"\ntools = "shell"\n'
    assert await told_of_policy(repo, denies) == ".orchestrate/policy.toml (1 rules)"
    assert "not as it is committed" in await told_of_policy(repo, denies * 2, is_committed=False)
    assert "says deny of all" in await told_of_policy(repo, denies * 2)
    assert ":2: rule[0].effect" in await told_of_policy(repo, denies.replace("deny", "den"))


async def told_of_policy(repo: Path, text: str, *, is_committed: bool = True) -> str:
    """What is said of a policy of the project's."""
    file = repo / ".orchestrate" / "policy.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    if is_committed:
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "policy")
    options = Options(repo, {"state": {"dir": str(repo.parent / "state")}})
    return " ".join(finding.detail for finding in await check_policy(load_project_context(options)))


@pytest.mark.extended
def test_servers_of_tools_are_started_and_held_against_their_pins(repo: Path) -> None:
    command, folders = server_table()["command"], server_table()["read_only"]
    tables = {
        "works": f"command = {json.dumps(command)}\nread_only = {json.dumps(folders)}",
        "lacks": 'command = ["no-such-server"]\nenv = ["NO_SUCH_KEY"]',
        "dies": 'command = ["/bin/sh", "-c", "echo cannot start >&2"]',
    }
    config = repo.parent / ".config" / "orchestrate" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("".join(f'[[mcp]]\nname = "{name}"\n{text}\n' for name, text in tables.items()))
    done = doctor(repo)
    assert "tools: echo; not pinned yet" in details(done, "mcp works", is_problem=False)
    lacks = details(done, "mcp lacks", is_problem=True)
    assert "NO_SUCH_KEY is not set; there is no program no-such-server" in lacks
    assert "cannot start" in details(done, "mcp dies", is_problem=True)
    assert list(repo.parent.rglob("mcp-pins")) == []
