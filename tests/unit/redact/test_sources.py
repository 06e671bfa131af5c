"""Which variables and files of the user's hold secrets."""

from pathlib import Path

import pytest

from orchestrator.redact.secret_sources import collect_secrets


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
        "WATSONX_APIKEY",
        "X_CREDENTIALS",
        "CI_JOB_TOKEN",
    ],
)
def test_variables_are_known_by_their_names(tmp_path: Path, name: str) -> None:
    assert collect_secrets({name: "v4lue-of-it", "PATH": "/usr/bin"}, tmp_path) == {name: "v4lue-of-it"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKENIZERS_PARALLELISM", "false-or-so1"),
        ("SSH_PRIVATE_KEY", "/home/me/.ssh/id_ed25519"),
        ("MAX_TOKENS", "100000000"),
        ("KEY_TYPE", "production"),
        ("MONKEY", "abc123def456"),
        ("API_KEY_ENV", "OPENAI_API_KEY"),
        ("AWS_REGION", "eu-central-1"),
    ],
)
def test_words_numbers_and_paths_are_no_secrets(tmp_path: Path, name: str, value: str) -> None:
    assert collect_secrets({name: value}, tmp_path) == {}


def test_variables_can_be_named_whatever_they_are_called(tmp_path: Path) -> None:
    assert collect_secrets({"HARMLESS": "correct horse"}, tmp_path, ["HARMLESS", "UNSET"]) == {
        "HARMLESS": "correct horse"
    }


def test_credentials_of_netrc_pip_and_npm_are_known(tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine a.example login me password n3trc-password\n")
    (tmp_path / ".netrc").chmod(0o600)
    (tmp_path / ".npmrc").write_text("//registry.example/:_authToken=npm-t0ken-value\nregistry=https://r.example/\n")
    (tmp_path / ".config" / "pip").mkdir(parents=True)
    index = "[global]\nindex-url = https://me:p%40ss-w0rd@pip.example/simple\n"
    (tmp_path / ".config" / "pip" / "pip.conf").write_text(index)
    environ = {"PIP_EXTRA_INDEX_URL": "https://u:3xtra-password@pip.example/simple"}
    values = set(collect_secrets(environ, tmp_path).values())
    assert values >= {"n3trc-password", "npm-t0ken-value", "p@ss-w0rd", "3xtra-password"}


def test_broken_files_hold_no_secrets(tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_bytes(b"machine \xff\xfe nonsense\n")
    (tmp_path / ".npmrc").mkdir()
    assert collect_secrets({}, tmp_path) == {}
