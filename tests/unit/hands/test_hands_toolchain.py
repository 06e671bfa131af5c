import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from orchestrator.errors import UsageProblem
from orchestrator.hands.policy import GrantedFolder, SandboxGrant
from orchestrator.hands.sandbox.backend import HostPaths
from orchestrator.hands.toolchain.interpreters import compute_fingerprint
from orchestrator.hands.toolchain.resolution import ToolChain, resolve_tool_chain
from tests.running.users import NOBODY

SYSTEM = ("/usr/local/bin", "/usr/bin", "/bin")
LAST = (*({f"{sys.base_prefix}/bin"} - set(SYSTEM)), *SYSTEM)


@pytest.fixture
def around(tmp_path: Path) -> HostPaths:
    return create_places(tmp_path)


@pytest.fixture
def open_around() -> Iterator[HostPaths]:
    """Places that every user may enter; pytest's own are closed."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield create_places(Path(folder))


def create_places(place: Path) -> HostPaths:
    made = HostPaths(place / "home" / "src" / "repo", place / "home", place / "home" / ".state")
    for folder in (made.repository, made.state):
        folder.mkdir(parents=True)
    return made


def program(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def installation(prefix: Path) -> Path:
    """A Python installation as far as its directories go."""
    program(prefix / "bin" / "python3.11")
    (prefix / "bin" / "python3").symlink_to("python3.11")
    (prefix / "lib" / "python3.11").mkdir(parents=True)
    (prefix / "lib" / "python3.11" / "os.py").touch()
    return prefix


def environment(folder: Path, python: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(python)
    (folder / "pyvenv.cfg").write_text(f"home = {python.parent}\nversion = 3.11.7\n")
    return folder


def chain(around: HostPaths, *given: Path | str, shared: tuple[str, ...] = (), **environ: str) -> ToolChain:
    lying = dict.fromkeys(shared, around.repository)
    folders = tuple(GrantedFolder(path=str(g), origin="--read-only") for g in given)
    return resolve_tool_chain(SandboxGrant(read_only=folders), around, lying, environ)


def own(*directories: Path) -> tuple[Path, ...]:
    """The directories beside our own interpreter's, in the order in which they are bound."""
    base = Path(sys.base_prefix)
    return tuple(sorted({*directories, *(() if base.is_relative_to("/usr") else (base,))}))


def test_without_anything_given_there_is_the_system_and_our_own_python(around: HostPaths) -> None:
    assert chain(around) == ToolChain(own(), (), LAST, None)


def test_given_directories_are_bound_and_lead_the_path_in_their_order(around: HostPaths, tmp_path: Path) -> None:
    program(tmp_path / "b" / "bin" / "tool")
    (tmp_path / "a" / "node_modules" / ".bin").mkdir(parents=True)
    program(tmp_path / "c" / "direct")
    tools = chain(around, tmp_path / "b", tmp_path / "a", tmp_path / "c")
    front = (str(tmp_path / "b" / "bin"), str(tmp_path / "a" / "node_modules" / ".bin"), str(tmp_path / "c"))
    assert tools == ToolChain(own(tmp_path / "a", tmp_path / "b", tmp_path / "c"), (), front + LAST, None)


def test_tools_come_last_on_the_path_and_activate_no_environment(around: HostPaths, tmp_path: Path) -> None:
    codemods = environment(tmp_path / "codemods", installation(tmp_path / "py") / "bin" / "python3")
    grant = SandboxGrant(tools=(GrantedFolder(path=str(codemods)),))
    tools = resolve_tool_chain(grant, around, {}, {})
    assert (tools.path, tools.virtual_env) == ((*LAST, str(codemods / "bin")), None)
    assert {codemods, tmp_path / "py"} <= set(tools.read_only)


def test_the_environment_of_orchestrate_itself_does_not_go_before_the_checkouts(around: HostPaths) -> None:
    environment(around.repository / ".venv", Path(sys.base_prefix) / "bin" / "python3")
    tools = chain(around, shared=(".venv",), VIRTUAL_ENV=sys.prefix)
    assert tools.path[:2] == (str(around.repository / ".venv" / "bin"), f"{sys.prefix}/bin")
    assert tools.virtual_env == str(around.repository / ".venv")


def test_a_tilde_stands_for_the_home_directory(around: HostPaths) -> None:
    program(around.home / "tools" / "x")
    assert chain(around, "~/tools").path[0] == str(around.home / "tools")


def test_a_relative_directory_is_meant_from_the_repository(around: HostPaths) -> None:
    program(around.home / "tools" / "x")
    assert around.home / "tools" in chain(around, "../../tools").read_only


def test_a_directory_inside_the_repository_is_only_put_on_the_path(around: HostPaths) -> None:
    program(around.repository / "tools" / "bin" / "x")
    tools = chain(around, "tools")
    assert tools == ToolChain(own(), (), (str(around.repository / "tools" / "bin"), *LAST), None)


def test_an_environment_pulls_in_its_interpreter_through_every_link(around: HostPaths, tmp_path: Path) -> None:
    real = installation(tmp_path / "store" / "cpython-3.11.7")
    alias = tmp_path / "store" / "cpython-3.11"
    alias.symlink_to(real)
    given = environment(tmp_path / "env", alias / "bin" / "python3")
    tools = chain(around, given)
    assert tools.read_only == own(given, alias, real)
    assert tools.virtual_env == str(given)


def test_an_environment_made_from_another_pulls_in_the_other_ones_interpreter(
    around: HostPaths, tmp_path: Path
) -> None:
    base = installation(tmp_path / "python")
    first = environment(tmp_path / "first", base / "bin" / "python3")
    second = environment(tmp_path / "second", first / "bin" / "python")
    assert chain(around, second).read_only == own(base, first, second)


def test_the_active_environment_counts_as_given_last(around: HostPaths, tmp_path: Path) -> None:
    base = installation(tmp_path / "python")
    active = environment(tmp_path / "active", base / "bin" / "python3")
    program(tmp_path / "given" / "bin" / "x")
    tools = chain(around, tmp_path / "given", VIRTUAL_ENV=str(active))
    assert tools.path[:2] == (str(tmp_path / "given" / "bin"), str(active / "bin"))
    assert tools.read_only == own(tmp_path / "given", active, base)


@pytest.mark.parametrize("value", ["", "relative/env", "/does/not/exist"])
def test_an_active_environment_that_is_not_there_is_passed_over(around: HostPaths, value: str) -> None:
    assert chain(around, VIRTUAL_ENV=value) == chain(around)


def test_an_active_environment_in_the_repository_is_taken_only_if_it_is_shared(around: HostPaths) -> None:
    base = installation(around.home / "python")
    inside = environment(around.repository / ".env3", base / "bin" / "python3")
    assert chain(around, VIRTUAL_ENV=str(inside)).virtual_env is None
    assert chain(around, shared=(".env3",), VIRTUAL_ENV=str(inside)).virtual_env == str(inside)


VERSION = "cpython-3.11.7-linux"
"""What version managers call an installation."""


@pytest.mark.parametrize(
    ("place", "variables"),
    [
        (f".pyenv/versions/{VERSION}", {}),
        (f"pyenv/versions/{VERSION}", {"PYENV_ROOT": "{home}/pyenv"}),
        (f".local/share/uv/python/{VERSION}", {}),
        (f"data/uv/python/{VERSION}", {"XDG_DATA_HOME": "{home}/data"}),
        (f"pythons/{VERSION}", {"UV_PYTHON_INSTALL_DIR": "{home}/pythons"}),
        (f".asdf/installs/python/{VERSION}", {}),
        ("miniconda3", {}),
        ("miniconda3/envs/work", {}),
        ("conda/envs/work", {"CONDA_EXE": "{home}/conda/bin/conda"}),
        ("built", {"PATH": "/usr/bin:{home}/built/bin"}),
    ],
)
def test_environments_of_the_checkout_get_the_interpreters_that_the_user_has(
    around: HostPaths, place: str, variables: dict[str, str]
) -> None:
    base = installation(around.home / place)
    environment(around.repository / ".venv", base / "bin" / "python3")
    environ = {name: value.format(home=around.home) for name, value in variables.items()}
    tools = chain(around, shared=(".venv",), **environ)
    assert (tools.read_only, dict(tools.unbound)) == (own(base), {})


def test_a_link_on_path_to_an_interpreter_is_followed(around: HostPaths) -> None:
    base = installation(around.home / ".local/share/uv/python" / VERSION)
    (around.home / ".local" / "bin").mkdir(parents=True)
    (around.home / ".local/bin/python3.11").symlink_to(base / "bin" / "python3.11")
    environment(around.repository / ".venv", around.home / ".local/bin/python3.11")
    tools = chain(around, shared=(".venv",), PATH=f"{around.home}/.local/bin")
    assert (tools.read_only, dict(tools.unbound)) == (own(base, around.home / ".local" / "bin"), {})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_directory_of_path_that_we_may_not_read_is_passed_over(around: HostPaths) -> None:
    program(around.home / "closed" / "bin" / "python3")
    (around.home / "closed").chmod(0o700)
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        tools = chain(around, PATH=f"{around.home}/closed/bin")
    finally:
        os.setresuid(0, 0, 0)
    assert tools.path == LAST


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
@pytest.mark.parametrize("closed", ["", "python"])
def test_an_interpreter_that_we_may_not_read_is_told_and_not_bound(open_around: HostPaths, closed: str) -> None:
    base = installation(open_around.home / "private" / "python")
    environment(open_around.repository / ".venv", base / "bin" / "python3")
    (open_around.home / "private" / closed).chmod(0o700)
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        tools = chain(open_around, shared=(".venv",))
    finally:
        os.setresuid(0, 0, 0)
    assert (tools.read_only, dict(tools.closed)) == (own(), {base: open_around.repository / ".venv"})


def test_an_interpreter_that_only_the_environment_names_is_told_and_bound_once_it_is_given(
    around: HostPaths,
) -> None:
    base = installation(around.home / "python")
    environment(around.repository / ".venv", base / "bin" / "python3")
    tools = chain(around, shared=(".venv",))
    assert (tools.read_only, dict(tools.unbound)) == (own(), {base: around.repository / ".venv"})
    tools = chain(around, base, shared=(".venv",))
    assert (tools.read_only, dict(tools.unbound)) == (own(base), {})


def test_shared_environments_are_on_the_path_with_their_interpreter(around: HostPaths) -> None:
    base = installation(around.home / ".pyenv" / "versions" / "3.11.7")
    environment(around.repository / ".venv", base / "bin" / "python3")
    (around.repository / "node_modules" / ".bin").mkdir(parents=True)
    tools = chain(around, shared=(".venv", "node_modules"))
    front = (f"{around.repository}/.venv/bin", f"{around.repository}/node_modules/.bin")
    assert tools == ToolChain(own(base), (), front + LAST, f"{around.repository}/.venv")
    assert chain(around).path == LAST


def test_of_an_installation_in_a_private_place_only_the_needed_parts_are_bound(around: HostPaths) -> None:
    local = installation(around.home)  # as of `configure --prefix=$HOME`
    environment(around.repository / ".venv", local / "bin" / "python3")
    tools = chain(around, shared=(".venv",), PATH=f"{local}/bin")
    assert tools.read_only == own(local / "bin", local / "lib")


def test_a_directory_inside_another_one_is_not_bound_twice(around: HostPaths, tmp_path: Path) -> None:
    program(tmp_path / "a" / "inner" / "bin" / "x")
    tools = chain(around, tmp_path / "a", tmp_path / "a" / "inner")
    assert tools.read_only == own(tmp_path / "a")
    assert tools.path[0] == str(tmp_path / "a" / "inner" / "bin")


def test_known_files_of_credentials_in_a_given_directory_are_masked(around: HostPaths) -> None:
    program(around.home / ".cargo" / "bin" / "cargo")
    (around.home / ".cargo" / "credentials.toml").write_text("token")
    assert chain(around, "~/.cargo").masked == (around.home / ".cargo" / "credentials.toml",)


def test_a_missing_directory_is_a_usage_problem_that_names_it_and_where_it_was_given(around: HostPaths) -> None:
    with pytest.raises(UsageProblem, match=r"home/nope, given as '~/nope' in --read-only, does not exist"):
        chain(around, "~/nope")
    (around.home / "file").touch()
    with pytest.raises(UsageProblem, match=r"is not a directory"):
        chain(around, "~/file")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("/", "host's system"),
        ("/proc", "host's system"),
        ("/proc/self", "host's system"),
        ("/sys", "host's system"),
        ("/dev", "host's system"),
        ("/etc", "host's system"),
        ("/tmp", "host's system"),
        ("~", "your home directory"),
        ("~/..", "your home directory"),
        ("~/.ssh", "credentials"),
        ("~/.aws", "credentials"),
        ("~/.gnupg", "credentials"),
        ("~/.config", "credentials"),
        ("~/.config/gh", "credentials"),
        (".", "your checkout"),
        ("~/src", "your checkout"),
        ("~/.state", "state directory"),
        ("~/.state/worktrees", "state directory"),
        ("~/innocent", "credentials"),
        ("~/up", "your home directory"),
    ],
)
def test_what_is_never_bound_is_refused_with_the_reason(around: HostPaths, given: str, reason: str) -> None:
    for folder in (".ssh", ".aws", ".gnupg", ".config/gh", ".state/worktrees"):
        (around.home / folder).mkdir(parents=True, exist_ok=True)
    (around.home / "innocent").symlink_to(".ssh")
    (around.home / "up").symlink_to("..")
    with pytest.raises(UsageProblem, match=rf"is never bound into a sandbox: .*{reason}"):
        chain(around, given)


def test_the_fingerprint_changes_when_a_package_is_installed(tmp_path: Path) -> None:
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    before = compute_fingerprint([tmp_path])
    assert compute_fingerprint([tmp_path]) == before
    (packages / "new").mkdir()
    assert compute_fingerprint([tmp_path]) != before
