"""Tokens in added lines: red where the product would carry them, told where they are samples, never repeated."""

import pytest

from tests.unit.judge.changes import added, changed, findings, red

RULE = "credential"
BODY = "Zq7Rt2Lp9XvB4nKc8WsD3mJf6HgT1yUeQ5aV"
TOKEN = f"ghp_{BODY}"
KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", "MIIEpAIBAAKCAQEA" + BODY * 2, "-----END RSA PRIVATE KEY-----"])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"TOKEN = '{TOKEN}'", "github-token"),
        (f"KEY = '''\n{KEY}\n'''", "private-key"),
        ("AWS = 'AKIAQ3EGTWZ7XKPLM2NB'", "aws-access-key"),
        ("url = 'https://hooks.slack.com/services/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'", "slack-webhook"),
    ],
)
def test_a_token_in_code_is_red_with_its_line_and_kind_and_never_repeated(text: str, kind: str) -> None:
    file = changed("src/app.py", "x = 1\n", text)
    (reason,) = red(RULE, file, lines=added("src/app.py", text))
    number = 1 + text.count("\n", 0, text.find("-----BEGIN")) if "BEGIN" in text else 1
    assert reason.startswith(f"src/app.py:{number} holds what looks like a {kind}: ")
    assert BODY not in reason and "AKIAQ" not in reason and "T0AB12CD3" not in reason
    assert red(RULE, file, lines=added("src/app.py", text), grants=["src/app.py"]) == []


@pytest.mark.parametrize(
    "path", ["tests/test_app.py", "docs/setup.md", "README.md", "testdata/key.pem", ".env.example"]
)
def test_where_samples_stand_a_token_is_only_told(path: str) -> None:
    file = changed(path, None, TOKEN)
    assert findings(RULE, file, lines=added(path, TOKEN)) == [(False, f"{path}:1 holds what looks like a github-token")]


@pytest.mark.parametrize("text", [f"db = 'postgres://app:{BODY}@localhost/app'", f"H = 'Authorization: Bearer {BODY}'"])
def test_what_only_looks_like_a_password_by_chance_is_only_told(text: str) -> None:
    ((is_blocking, words),) = findings(RULE, changed("src/app.py", "", text), lines=added("src/app.py", text))
    assert not is_blocking
    assert BODY not in words


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "token = os.environ['GITHUB_TOKEN']",
        "PREFIXES = ('ghp_', 'sk-ant-', 'AKIA')",
        "ghp_" + "x" * 36,
        "-----BEGIN PUBLIC KEY-----",
        "sha = 'd0be2dc421be4fcd0172e5afceea3970e2f3d940'",
    ],
)
def test_what_is_no_token_is_not_told(text: str) -> None:
    assert findings(RULE, changed("src/app.py", "", text), lines=added("src/app.py", text)) == []


def test_a_token_that_was_there_before_may_move() -> None:
    old, new = changed("a.py", f"T = '{TOKEN}'\n", ""), changed("b.py", None, f"T = '{TOKEN}'\n")
    assert findings(RULE, old, new, lines=added("b.py", f"T = '{TOKEN}'\n")) == []
