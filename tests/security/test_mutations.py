"""Each wall is needed: with it taken out of a copy of the product, the test of an attack fails.

The sandbox's own self-test would refuse most of these copies before any attack is made. So it is blinded in all of
them, and one test shows what it says itself.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2]
COPIED = (
    "orchestrator",
    "roles",
    "prompts",
    "worktrees",
    "tests/running",
    "tests/security",
    "tests/unit/hands",
    "tests/unit/worktrees",
)
FILES = ("config.toml", "pyproject.toml", "tests/conftest.py")

Change = tuple[str, str, str]
"""File, the text that must stand in it once, and what stands there instead."""

BLIND: Change = (
    "orchestrator/hands/sandbox/backend_trials.py",
    'report = await run_self_test(backend, trial.session / "probe")',
    'report = __import__("orchestrator.hands.selftest.escape_test", fromlist=["run_self_test"]).SelfTestReport()',
)
LAYOUT, BWRAP = "orchestrator/hands/sandbox/filesystem_layout.py", "orchestrator/hands/sandbox/bubblewrap_arguments.py"
STARTED, SCREEN = "orchestrator/hands/execution/sandbox_process.py", "worktrees/snapshots/screening.py"
STATIC = "tests/unit/hands/test_hands_bubblewrap.py::test_a_normal_user_starts_one_bubblewrap"
ESCAPE = "tests/security/test_escape.py::test_"
HOSTILE = "tests/security/test_hostile_worktree.py::test_"
CONTENT = "tests/security/test_hostile_content.py::test_"


@dataclass(frozen=True)
class Mutation:
    """A wall taken out, the test that must turn red, and a word of what it says then."""

    changes: tuple[Change, ...]
    test: str
    says: str


def without(text: str, file: str = BWRAP, instead: str = "") -> Change:
    return file, text, instead


def unshared(*kinds: str) -> Change:
    words = ", ".join(f'"--unshare-{kind}"' for kind in kinds)
    return without('"--unshare-all"', instead=words)


MUTATIONS = {
    # Bubblewrap drops all anyway where a normal user starts it, as we always do: only the command line shows it.
    "--cap-drop": Mutation((without('"--cap-drop", "ALL", '),), STATIC, "--cap-drop"),
    "--unshare-net": Mutation(
        (unshared("ipc", "pid", "uts", "cgroup"),), f"{ESCAPE}no_socket_of_the", "DID NOT RAISE TimeoutError"
    ),
    # Its attack kills whatever it can reach, so that it must never be tried without the wall: only the command line.
    "--unshare-pid": Mutation((unshared("ipc", "net", "uts", "cgroup"),), STATIC, "--unshare-all"),
    "bubblewrap's own environment": Mutation(
        (without("env=BUBBLEWRAP_ENVIRONMENT", STARTED, "env=None"),), f"{ESCAPE}no_variable_of_any", "canary-0815"
    ),
    # Bubblewrap itself starts with nothing but PATH, so that there is nothing to clear: only the command line shows it.
    "--clearenv": Mutation((without('"--clearenv", '),), STATIC, "--clearenv"),
    "the reading of whom TLS asks for": Mutation(
        (
            without(
                "check_server_name(message.content, self.host)", "orchestrator/hands/network/tls_handshake.py", "pass"
            ),
        ),
        "tests/security/test_domain_fronting.py::test_a_tunnel_to_a_registry_leads",
        "== b''",
    ),
    "the /proc/sys bind": Mutation(
        (without(', "--ro-bind", "/proc/sys", "/proc/sys"'),), f"{ESCAPE}kernel_settings", "'0\\n' == '1\\n'"
    ),
    "the shadow in place of the checkout's git directory": Mutation(
        (without('yield backend.build_writable_mount(mount_plan.git, checkout / ".git")', LAYOUT, "pass"),),
        f"{ESCAPE}the_git_directory_of_a_workspace",
        "assert not True",
    ),
    "the shadow git directory": Mutation(
        (
            without(
                'build_writable_mount(mount_plan.git, checkout / ".git")',
                LAYOUT,
                'build_read_only_mount(checkout / ".git", checkout / ".git")',
            ),
        ),
        "tests/unit/hands/test_hands_git.py::test_only_objects_of_the_repository_are_visible",
        "x.git",
    ),
    "read-only objects": Mutation(
        (
            without(
                "build_read_only_mount(mount_plan.objects[0], self.get_world(mount_plan).objects)",
                LAYOUT,
                "build_writable_mount(mount_plan.objects[0], self.get_world(mount_plan).objects)",
            ),
        ),
        f"{ESCAPE}only_the_workspace_and_empty",
        "/objects'",
    ),
    # We start bubblewrap in a session of its own anyway: only the command line shows it.
    "--new-session": Mutation((without(', "--new-session"'),), STATIC, "--new-session"),
    "closed descriptors": Mutation(
        (
            without(
                "pass_fds=passed",
                STARTED,
                "close_fds=[os.set_inheritable(number, True) for number in passed] is None",
            ),
        ),
        "tests/unit/hands/test_hands_commands.py::test_no_descriptor_is_inherited",
        "canary-4711",
    ),
    "openat2's walls": Mutation(
        (without("_BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)", "orchestrator/hands/files/safe_open.py", "0)"),),
        "tests/unit/hands/test_hands_files.py::test_no_symbolic_link_is_followed",
        "DID NOT RAISE",
    ),
    "the explicit GIT_DIR": Mutation(
        (
            without(
                '"PATH": search_path, "GIT_DIR": str(git_dir)}',
                "worktrees/safety/git_environment.py",
                '"PATH": search_path, **({} if work_tree else {"GIT_DIR": str(git_dir)})}',
            ),
            without('variables["GIT_WORK_TREE"] = str(work_tree)', "worktrees/safety/git_environment.py", "pass"),
            without('return Path("/")', "worktrees/git.py", "return self.work_tree"),
        ),
        f"{HOSTILE}an_evil_git_directory_in_place",
        "marker",
    ),
    "the snapshot gate": Mutation(
        (without("verdict = _examine_file(root, path, path in known, limits)", SCREEN, "verdict = 0"),),
        f"{CONTENT}links_that_lead_out_are_left_out",
        "sideways",
    ),
    "the gate for submodules": Mutation(
        (without("verdict = _examine_file(root, path, path in known, limits)", SCREEN, "verdict = 0"),),
        f"{HOSTILE}a_nested_repository_is_left_out",
        "assert 0 == 1",
    ),
}


def copy_of_the_product(place: Path, changes: tuple[Change, ...]) -> Path:
    for folder in COPIED:
        shutil.copytree(SOURCE / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__", "sample"))
    for file in FILES:
        shutil.copy(SOURCE / file, place / file)
    for file, old, new in changes:
        text = (place / file).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{file} does not hold {old!r} once: the mutation must follow the code"
        (place / file).write_text(text.replace(old, new), encoding="utf-8")
    return place


def outcome(place: Path, tests: list[str]) -> "subprocess.CompletedProcess[str]":
    """The tests, by the beginning of their names, run in a copy."""
    files = sorted({test.partition("::")[0] for test in tests})
    names = " or ".join(test.partition("::")[2] for test in tests)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout", "40"]
    environ = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "500"}
    environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(place / "examples")
    for name in [name for name in environ if name.startswith("PYTEST_")]:
        del environ[name]
    words += ["--basetemp", str(place / "basetemp"), "-m", "not slow", "-k", names, *files]
    return subprocess.run(words, cwd=place, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.timeout(900)
def test_without_a_mutation_every_one_of_these_tests_passes(tmp_path: Path) -> None:
    tests = sorted({mutation.test for mutation in MUTATIONS.values()})
    done = outcome(copy_of_the_product(tmp_path / "copy", (BLIND,)), tests)
    assert done.returncode == 0, done.stdout
    assert " failed" not in done.stdout


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("name", MUTATIONS)
def test_without_this_wall_an_attack_succeeds_and_its_test_is_red(name: str, tmp_path: Path) -> None:
    mutation = MUTATIONS[name]
    done = outcome(copy_of_the_product(tmp_path / "copy", (BLIND, *mutation.changes)), [mutation.test])
    assert done.returncode == 1, done.stdout + done.stderr
    assert "failed" in done.stdout.splitlines()[-1] or "error" in done.stdout.splitlines()[-1]
    told = [line for line in done.stdout.splitlines() if line.startswith("E ")]
    assert any(mutation.says in line for line in told), done.stdout


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("--unshare-net", "a socket outside could be reached"),
        ("bubblewrap's own environment", "the environment of a process outside could be read"),
    ],
)
def test_the_self_test_refuses_a_sandbox_without_this_wall_and_names_it(name: str, words: str, tmp_path: Path) -> None:
    done = outcome(copy_of_the_product(tmp_path / "copy", MUTATIONS[name].changes), [f"{ESCAPE}nothing_is_written"])
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"The sandbox does not hold: {words}" in done.stdout
