from pathlib import Path

import pytest

from orchestrator.domain.paths.dependencies import DEPENDENCY_PATTERNS
from orchestrator.hands.toolchain.shared_paths import select_shared_paths


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "repo"
    for folder in (".venv", "web/node_modules", "src/pkg.egg-info", "build", "env", "config"):
        (made / folder).mkdir(parents=True)
    for file in ("src/fast.so", "notes.so.txt", ".env", ".env.local", ".envrc"):
        (made / file).touch()
    return made


def test_the_defaults_take_environments_and_packages_at_any_depth(root: Path) -> None:
    ignored = [".venv", "web/node_modules", "src/pkg.egg-info", "src/fast.so", "build", "notes.so.txt", ".env"]
    chosen = select_shared_paths(root, ignored, DEPENDENCY_PATTERNS)
    assert chosen == (".venv", "src/pkg.egg-info", "web/node_modules")


def test_what_was_compiled_is_taken_by_the_users_own_word(root: Path) -> None:
    assert select_shared_paths(root, ["src/fast.so", "notes.so.txt"], ("*.so",)) == ("src/fast.so",)


def test_what_is_not_ignored_is_never_taken(root: Path) -> None:
    assert select_shared_paths(root, [], ("*", ".venv", "/.venv")) == ()


def test_a_pattern_with_a_slash_is_meant_from_the_root(root: Path) -> None:
    (root / "web" / "build").mkdir()
    assert select_shared_paths(root, ["build", "web/build"], ("/build",)) == ("build",)
    assert select_shared_paths(root, ["build", "web/build"], ("web/build/",)) == ("web/build",)


def test_files_of_variables_are_never_taken(root: Path) -> None:
    assert select_shared_paths(root, [".env", ".env.local", ".envrc"], ("*", ".env*", "/.env")) == ()


def test_a_wildcard_takes_nothing_that_is_known_for_secrets_and_a_name_does(root: Path) -> None:
    names = ("config/master.key", "config/secrets.yml", "config/Signing.P12", "config/plain.toml")
    for name in names:
        (root / name).touch()
    assert select_shared_paths(root, names, ("config/*", "*.key", "*.p12")) == ("config/plain.toml",)
    assert select_shared_paths(root, names, ("config/*", "config/master.key")) == (
        "config/master.key",
        "config/plain.toml",
    )


def test_an_environment_that_is_called_env_is_taken(root: Path) -> None:
    (root / ".env").unlink()
    (root / ".env").mkdir()
    (root / ".env" / "pyvenv.cfg").touch()
    assert select_shared_paths(root, [".env"], (".env",)) == (".env",)


def test_a_link_is_taken_only_if_it_names_another_ignored_thing(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    links = {
        "out": tmp_path / "elsewhere",
        "venv": root / ".venv",
        "settings": root / "config",
        "secret": root / ".env",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    assert select_shared_paths(root, [".venv", ".env", *links], ("*",)) == (".venv", "venv")


def test_a_path_through_a_linked_directory_is_not_taken(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "node_modules").mkdir(parents=True)
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    assert select_shared_paths(root, ["linked/node_modules"], ("node_modules",)) == ()


def test_what_lies_in_something_taken_is_not_taken_again(root: Path) -> None:
    (root / ".venv" / "node_modules").mkdir()
    assert select_shared_paths(root, [".venv", ".venv/node_modules"], DEPENDENCY_PATTERNS) == (".venv",)


def test_what_is_gone_is_not_taken(root: Path) -> None:
    assert select_shared_paths(root, ["venv"], ("venv",)) == ()
