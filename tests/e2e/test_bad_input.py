"""What a user gets for a mistake: one clear sentence, the right exit code, no traceback, nothing changed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running.cli import Finished, environment
from tests.running.in_process import orchestrate
from tests.running.mistakes import assert_said
from tests.running.projects import calculator, git, refs, repository

pytestmark = [pytest.mark.sandbox]

TEST_OF_ODD_FILES = """
import unittest

class OddTest(unittest.TestCase):
    def test_they_can_be_imported(self):
        import bom, crlf, latin, ragged
"""
RECIPE = """
schema = 1
[migration]
id = "spaces"
[scope]
include = ["*.py"]
[[step]]
id = "sed"
run = "sed -i 's/a + b/b + a/' {files}"
[verify]
report = "unittest"
[[verify.check]]
id = "tests"
run = "python3 -m unittest -v"
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return calculator(tmp_path / "repo")


def assert_refused(done: Finished, code: int, *said: str) -> None:
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    for part in said:
        assert part in done.err


def migrate(repo: Path, recipe: str, *words: str) -> Finished:
    (repo.parent / "recipe.toml").write_text(recipe)
    state = ("--state", str(repo.parent / "state"))
    return orchestrate("migrate", "run", "recipe.toml", "--repo", str(repo), *state, *words, cwd=repo.parent)


def test_the_recipe_itself_is_sound(repo: Path) -> None:
    assert migrate(repo, RECIPE, "--json").json["files"]["landed"] == ["calc.py"]


@pytest.mark.extended
def test_a_run_begins_with_its_id_and_with_what_it_leaves_out(repo: Path) -> None:
    (repo / "calc.py").write_text((repo / "calc.py").read_text() + "# not committed\n")
    done = migrate(repo, RECIPE, "--json")
    lines = done.err.splitlines()
    assert f"run {done.json['run']}: spaces (base " in lines[0]
    assert "warning: your checkout has changes that are not committed (calc.py)" in lines[1]
    again = orchestrate("migrate", "resume", "--repo", str(repo), "--state", str(repo.parent / "state"), cwd=repo)
    assert "not committed (calc.py)" not in again.err.partition("\n\n")[0]


def test_a_directory_that_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    for words in (("run", "x", "--gate", "true"), ("status",), ("logs",), ("resume",), ("gc",)):
        done = orchestrate(*words, "--repo", "plain", cwd=tmp_path)
        assert_refused(done, 2, "plain", "git")


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    git(tmp_path / "new", "init", "-q")
    assert_refused(orchestrate("run", "x", "--gate", "true", "--repo", "new", cwd=tmp_path), 2, "commit")


def test_an_unknown_key_of_a_recipe_is_named_with_file_and_line(repo: Path) -> None:
    done = migrate(repo, RECIPE.replace('id = "sed"', 'id = "sed"\nrnu = "x"'))
    assert_refused(done, 2, "recipe.toml:9: unknown key step[0].rnu")


def test_every_mistake_of_a_recipe_is_told_at_once(repo: Path) -> None:
    wrong = RECIPE.replace('id = "spaces"', 'id = "Two Words"').replace("{files}", "calc.py")
    done = migrate(repo, wrong + 'report = "xml"\n')
    assert_refused(done, 2, "migration.id", "write {files} in it", "verify.check[0].report")


def test_a_recipe_that_is_no_toml_or_not_there(repo: Path) -> None:
    assert_refused(migrate(repo, "schema = \n"), 2, "recipe.toml", "line 1")
    assert_refused(orchestrate("migrate", "run", "ghost.toml", "--repo", str(repo), cwd=repo), 2, "ghost.toml")


def test_a_pattern_that_matches_nothing_is_never_green(repo: Path) -> None:
    done = migrate(repo, RECIPE.replace("*.py", "*.rb"), "--json")
    assert_refused(done, 2, "include = ['*.rb']", "match none of the 3 files")
    assert done.json["outcome"] == "not-started"
    sites = '[[scope.site]]\nid = "x"\npattern = "no such words"\n[[step]]'
    assert_refused(migrate(repo, RECIPE.replace("[[step]]", sites, 1)), 5, "no site was found in 2 files")
    assert "refs/heads/main" in refs(repo)
    assert not [ref for ref in refs(repo) if ref.startswith("refs/heads/migrate")]


def test_steps_that_change_nothing_are_never_green(repo: Path) -> None:
    done = migrate(repo, RECIPE.replace("a + b", "x + y"), "--json")
    assert (done.code, done.json["outcome"]) == (4, "nothing-changed")


def test_a_missing_tool_is_named_and_the_run_can_be_gone_on_with(repo: Path) -> None:
    done = migrate(repo, RECIPE.replace("sed -i", "no-such-codemod -i"))
    assert_refused(done, 7, "no-such-codemod", "not found", "--read-only DIR", "orchestrate resume")


def test_a_missing_gate_command(repo: Path) -> None:
    done = migrate(repo, RECIPE.replace("python3 -m unittest -v", "no-such-runner --all"))
    assert_refused(done, 7, "`no-such-runner --all` was not found in the sandbox", "--read-only DIR")


def test_a_tool_chain_directory_that_does_not_exist(repo: Path) -> None:
    assert_refused(migrate(repo, RECIPE, "--read-only", "/no/such/place"), 2, "/no/such/place", "does not exist")


def in_namespace(repo: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a mount namespace of its own, where it may mount over things without anybody noticing."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    return subprocess.run(
        ["unshare", "--mount", "bash", "-c", script],
        cwd=repo.parent,
        env=environment(repo.parent),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_missing_sandbox_is_told_with_what_to_install_and_nothing_runs_without_it(repo: Path) -> None:
    (repo.parent / "recipe.toml").write_text(RECIPE)
    words = f"migrate run recipe.toml --repo {repo} --state {repo.parent}/state"
    found = [place for name in ("bwrap", "podman", "docker") if (place := shutil.which(name))]
    hide = "".join(f"mount --bind /dev/null {place} && " for place in found)
    script = f"{hide}{sys.executable} -m orchestrator {words}"
    done = in_namespace(repo, script)
    assert_refused(Finished(done.returncode, done.stdout, done.stderr), 7, "bubblewrap", "install")
    assert_said("no sandbox", done.stderr)
    assert "a + b" in (repo / "calc.py").read_text()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 7, "no model is configured for the planner"),
        (("--model", "planner=openai/gpt-5", "--model", "worker=openai/gpt-5"), 7, "OPENAI_API_KEY"),
        (("--model", "planner=nonsense-model"), 7, "nonsense-model"),
        (("--model", "cook=x"), 2, "planner=MODEL"),
        (("--model", "planner=scripted:ghost.toml"), 7, "ghost.toml"),
        (("--set", "run.max_wokers=3"), 2, "unknown key run.max_wokers"),
        (("--set", "gibberish"), 2, "is not KEY=VALUE"),
        (("--time-limit", "soon"), 2, "5h30m"),
        (("--time-limit", "9" * 5_000), 2, "5h30m"),
    ],
)
def test_models_and_settings_that_are_wrong(repo: Path, words: tuple[str, ...], code: int, said: str) -> None:
    done = orchestrate("run", "x", "--gate", "true", *words, "--repo", str(repo), cwd=repo.parent)
    assert_refused(done, code, said)


def test_a_branch_that_stands_in_the_way_of_the_pr_branch(repo: Path) -> None:
    git(repo, "branch", "migrate")
    assert_refused(migrate(repo, RECIPE), 2, "cannot be made beside your branch migrate")


def test_runs_that_do_not_exist(repo: Path) -> None:
    where = ("--repo", str(repo), "--state", str(repo.parent / "state"))
    assert_refused(orchestrate("status", *where, cwd=repo), 2, "no run of this repository is known")
    migrate(repo, RECIPE)
    assert_refused(orchestrate("status", "ghost", *where, cwd=repo), 2, "'ghost' is no run of this repository")
    assert_refused(orchestrate("show", "latest", "ghost.py", *where, cwd=repo), 2, "does not cover 'ghost.py'")
    assert_refused(
        orchestrate("logs", "latest", "ghost.py", *where, cwd=repo), 2, "nothing that happened in run", "'ghost.py'"
    )
    assert_refused(orchestrate("diff", "latest", "calc.py", "--attempt", "2", *where, cwd=repo), 2, "has no attempts")
    assert "calc.py transformed" in orchestrate("logs", "latest", "calc.py", *where, cwd=repo).out


def test_a_project_file_that_wants_more_than_it_may_have(repo: Path) -> None:
    (repo / "orchestrate.toml").write_text('[hands]\nread_only = ["/etc"]\n')
    assert_refused(migrate(repo, RECIPE), 2, "orchestrate.toml:2: hands.read_only may not be set", "--trust-project")


@pytest.mark.extended
def test_a_linter_behind_the_tests_counts_although_all_tests_pass(repo: Path) -> None:
    gate = "python3 -m unittest -v && ! grep -q 'b + a' calc.py"
    done = migrate(repo, RECIPE.replace('"python3 -m unittest -v"', f'"{gate}"'), "--json")
    assert (done.code, done.json["outcome"], done.json["files"]["landed"]) == (4, "rejected", [])
    assert done.json["files"]["rejected"][0]["reason"].startswith("exits with 1 although no test explains it")


@pytest.mark.extended
def test_a_gate_that_floods_with_the_change_says_so_and_nothing_lands(repo: Path) -> None:
    gate = "if grep -q 'b + a' calc.py; then yes; fi; python3 -m unittest -v"
    done = migrate(
        repo, RECIPE.replace('"python3 -m unittest -v"', f'"{gate}"'), "--set", "hands.output_mb=1", "--json"
    )
    assert (done.code, done.json["files"]["landed"]) == (4, [])
    told = "the check `tests` printed more than [hands] output_mb allows, 2 times in a row"
    assert done.json["files"]["rejected"][0]["reason"] == told


def test_a_state_directory_inside_the_checkout(repo: Path) -> None:
    words = ("migrate", "run", "recipe.toml", "--repo", str(repo), "--state", str(repo / "state"))
    (repo.parent / "recipe.toml").write_text(RECIPE)
    assert_refused(orchestrate(*words, cwd=repo.parent), 2, "would lie inside the checkout", "--state DIR")
    assert git(repo, "status", "--porcelain") == ""


def test_a_recipe_that_is_wrong_is_one_json_object_too(repo: Path) -> None:
    done = migrate(repo, "schema = 1\n", "--json")
    assert_refused(done, 2, "scope is missing")
    assert (done.json["outcome"], done.json["exit"]) == ("not-started", 2)


@pytest.mark.extended
def test_odd_files_survive_byte_for_byte_around_the_change(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "crlf.py": b"x = 1\r\ny = 'OLD'\r\n",
        "latin.py": b"# -*- coding: latin-1 -*-\nz = '\xe9 OLD'\n",
        "ragged.py": b"w = 'OLD'",
        "bom.py": b"\xef\xbb\xbfv = 'OLD'\n",
        "bytes.bin": bytes(range(256)),
        "test_all.py": TEST_OF_ODD_FILES,
        ".gitignore": "__pycache__/\n",
    }
    repo = repository(tmp_path / "repo", files)
    recipe = RECIPE.replace("s/a + b/b + a/", "s/OLD/NEW/").replace('["*.py"]', '["*.py", "!test_*.py"]')
    result = migrate(repo, recipe, "--json").json
    assert result["files"]["landed"] == ["bom.py", "crlf.py", "latin.py", "ragged.py"]
    for name in result["files"]["landed"]:
        old = files[name]
        assert isinstance(old, bytes)
        blob = git_bytes(repo, f"{result['pr_branch']}:{name}")
        assert blob == old.replace(b"OLD", b"NEW")
    assert git_bytes(repo, f"{result['pr_branch']}:bytes.bin") == bytes(range(256))


def git_bytes(root: Path, name: str) -> bytes:
    return subprocess.run(["git", "cat-file", "blob", name], cwd=root, capture_output=True, check=True).stdout


@pytest.mark.extended
def test_a_full_disk_stops_the_run_resumably(repo: Path) -> None:
    """The state directory is a file system of two megabytes, mounted in a namespace of the test's own."""
    state = repo.parent / "state"
    state.mkdir()
    (repo.parent / "recipe.toml").write_text(RECIPE)
    words = f"migrate run recipe.toml --repo {repo} --state {state} --json"
    done = in_namespace(
        repo,
        f"""
        mount -t tmpfs -o size=2m tmpfs {state} && mkdir {state}/ballast
        head -c 1800k /dev/zero > {state}/ballast/zero
        {sys.executable} -m orchestrator {words} 2> err; echo "first $?"
        rm -r {state}/ballast && mount -o remount,size=200m {state}
        {sys.executable} -m orchestrator {words} > out 2>> err; echo "second $?"
        """,
    )
    said = (repo.parent / "err").read_text()
    assert "first 7" in done.stdout, said
    assert "No space left" in said or "disk" in said
    assert "Traceback" not in said
    assert "second 0" in done.stdout, said
    assert json.loads((repo.parent / "out").read_text())["files"]["landed"] == ["calc.py"]


@pytest.mark.parametrize("verb", [("run",), ("ci", "run", "--key", "k", "--remote", "upstream")])
def test_a_goal_that_is_piped_in_another_encoding_is_no_crash(repo: Path, verb: tuple[str, ...]) -> None:
    words = [sys.executable, "-m", "orchestrator", *verb, "-", "--repo", str(repo), "--state", str(repo.parent / "s")]
    env = environment(repo.parent, PYTHONIOENCODING="utf-8:strict")
    done = subprocess.run(words, input=b"caf\xe9\n", capture_output=True, env=env, timeout=240, check=False)
    assert_refused(Finished(done.returncode, "", done.stderr.decode()), 2, "gate" if verb == ("run",) else "upstream")
