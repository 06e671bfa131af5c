"""No other part of the product starts git or opens a repository: read from the source itself."""

import ast
from functools import cache
from pathlib import Path

import pytest

import worktrees

TOP = Path(worktrees.__file__).parents[1]
PACKAGES = ("orchestrator", "roles", "prompts", "worktrees")
RUNNER = "worktrees/git.py"
PROCESS = "worktrees/git_process.py"
"""The module that starts the command which the runner has built."""
CONFIGURATION = "worktrees/repositories/configuration.py"
STARTERS = frozenset({"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "system"})
ASYNC_STARTERS = frozenset(
    {"run_process", "open_process", "create_subprocess_exec", "create_subprocess_shell", "popen"}
)
OTHERS = ("which", "execv", "execve", "execvp", "execvpe", "spawnv", "spawnvp", "posix_spawn", "posix_spawnp")


@cache
def sources() -> tuple[tuple[str, ast.Module], ...]:
    files = (file for package in PACKAGES for file in sorted((TOP / package).rglob("*.py")))
    return tuple((str(file.relative_to(TOP)), ast.parse(file.read_text(encoding="utf-8"))) for file in files)


def starts_git(tree: ast.AST) -> list[int]:
    """Lines that hand a command beginning with git to something that starts or finds programs."""
    lists = {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.List | ast.Tuple) and node.elts and _is_git(node.elts[0]) and _has_verb(node.elts[1:])
    }
    calls = {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _name(node.func) in STARTERS | ASYNC_STARTERS | {*OTHERS}
        for argument in node.args
        if _is_git(argument) or (isinstance(argument, ast.List | ast.Tuple) and any(map(_is_git, argument.elts[:1])))
    }
    return sorted(lists | calls)


def _is_git(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return bool(node.values) and _is_git(node.values[0])
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return False
    command = node.value.strip().split(" ")[0]
    return command == "git" or command.endswith("/git")


def _has_verb(rest: list[ast.expr]) -> bool:
    """Whether the list is a command line rather than, say, names of programs: it has an option or a verb of git."""
    verbs = {"add", "apply", "commit", "clone", "config", "diff", "fetch", "init", "log", "push", "rev-parse", "status"}
    texts = {node.value for node in rest if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return bool(texts & verbs) or any(text.startswith("-") for text in texts)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def imports(tree: ast.AST) -> set[str]:
    """The top-level packages a module imports anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.attack(30)
def test_git_is_started_by_the_guarded_runner_alone() -> None:
    found = {path: lines for path, tree in sources() if path != RUNNER and (lines := starts_git(tree))}

    assert found == {}


@pytest.mark.attack(30)
def test_gitpython_is_imported_where_the_users_configuration_is_read_and_nowhere_else() -> None:
    libraries = {"git", "gitdb", "pygit2", "dulwich"}

    assert {path: found for path, tree in sources() if (found := imports(tree) & libraries)} == {CONFIGURATION: {"git"}}


def opened_repositories(tree: ast.AST) -> set[str]:
    """What is handed to `Repo`, as it is written; every other way to make one counts as its own name."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and "Repo" in ast.unparse(node.func)]
    makers = [call for call in calls if ast.unparse(call.func).partition(".")[0] in {"Repo", "git"}]
    return {ast.unparse(call.args[0]) if call.args else ast.unparse(call.func) for call in makers}


@pytest.mark.attack(30)
def test_gitpython_opens_no_repository() -> None:
    found = {path: opened for path, tree in sources() if (opened := opened_repositories(tree))}

    assert found == {}
    assert opened_repositories(ast.parse("Repo(worktree.root)\ngit.Repo.init(path)")) == {"worktree.root", "path"}


def test_gitpython_is_not_imported_when_the_module_is() -> None:
    tree = ast.parse((TOP / CONFIGURATION).read_text(encoding="utf-8"))

    assert "git" not in {
        name for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) for name in imports(node)
    }


@pytest.mark.attack(30)
def test_within_the_package_only_the_runner_starts_processes() -> None:
    starters = {"subprocess", "pty", "multiprocessing"}
    found = {path for path, tree in sources() if path.startswith("worktrees/") and imports(tree) & starters}

    assert found == {RUNNER, PROCESS}


def test_only_the_runner_hands_commands_to_what_starts_them() -> None:
    users = set()
    for path, tree in sources():
        if any(isinstance(node, ast.Name) and node.id == "GitProcess" for node in ast.walk(tree)):
            users.add(path)
    assert users == {RUNNER}


@pytest.mark.parametrize(
    "line",
    [
        'subprocess.run(["git", "status"])',
        'subprocess.run("git status", shell=True)',
        'await anyio.run_process(["/usr/bin/git", "-C", path, "log"])',
        'os.execvp("git", argv)',
        'shutil.which("git")',
        'command = ["git", "push", remote]',
        'run(f"git -C {path} status")',
        'os.system("git gc")',
    ],
)
@pytest.mark.attack(30)
def test_the_search_does_find_what_it_looks_for(line: str) -> None:
    assert starts_git(ast.parse(f"async def f():\n    {line}")) == [2]


def test_the_search_leaves_other_things_alone() -> None:
    harmless = 'TOOLS = ("git", "rg")\nprint("git was not found")\nawait git.run("status")\nrun(["python", "git"])\n'

    assert starts_git(ast.parse(f"async def f():\n    {harmless.replace(chr(10), chr(10) + '    ')}pass")) == []
