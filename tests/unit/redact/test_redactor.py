"""Taking secrets out of texts: every form of a known value, kinds of tokens, and nothing else."""

import base64
import html
import json
import os
import random
import re
import shlex
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.redact.redactor import PATTERN_REDACTOR, Redactor
from orchestrator.redact.token_patterns import has_mark

SECRET = "q8Zr/71+kd Ww=Lp~5vT"
"""With everything that some quoting changes, but for quotes."""
REDACTOR = Redactor({"MY_API_KEY": SECRET})
MARK = "[redacted:MY_API_KEY]"


def chance(length: int, letters: str = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789") -> str:
    """A made-up token, put together here so that no scanner takes this file for a leak."""
    return "".join(random.Random(length).choices(letters, k=length))


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET),
        quote(SECRET),
        re.sub("%..", lambda escape: escape[0].lower(), quote(SECRET, safe="")),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        SECRET.encode().hex(":"),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        repr(SECRET.encode()),
    ],
)
def test_a_known_value_is_found_in_every_form(form: str) -> None:
    redacted = REDACTOR.redact_text(f"before {form} after")
    assert MARK in redacted
    assert redacted.startswith("before ") and redacted.endswith(" after")
    assert form[4:-4] not in redacted


@pytest.mark.parametrize("before", ["", "a", "ab", "Authorization: Basic ", "user:"])
def test_base64_is_found_wherever_in_the_encoded_text_the_value_stands(before: str) -> None:
    encoded = base64.b64encode(f"{before}{SECRET}{before}".encode()).decode()
    redacted = REDACTOR.redact_text(encoded)
    assert MARK in redacted
    left = encoded
    for kept in redacted.split(MARK):
        left = left.replace(kept, "", 1)
    assert len(left) >= len(SECRET) * 8 // 6 - 2


@pytest.mark.parametrize("gap", ["\n", "\r\n", "\n    ", "\x1b[31m", "\\n"])
def test_a_known_value_is_found_across_broken_and_coloured_lines(gap: str) -> None:
    encoded = base64.b64encode(SECRET.encode() * 3).decode()
    for whole in (SECRET, encoded):
        assert MARK in REDACTOR.redact_text(f"x {whole[:9]}{gap}{whole[9:]} y")


def test_a_value_with_quotes_and_line_breaks_is_found_in_json() -> None:
    value = 'pa"ss\nwo\\rd\u00e4 7'
    redactor = Redactor({"DB_PASSWORD": value})
    for text in (value, json.dumps({"a": value}), json.dumps({"a": value}, ensure_ascii=False), repr([value])):
        assert "[redacted:DB_PASSWORD]" in redactor.redact_text(text), text


AWKWARD = "pa\"ss\nwo\\rd\u00e4 7/x'y"
"""With everything that JSON, a URL, HTML or a shell writes in another way."""


@pytest.mark.attack(43)
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_a_value_is_found_in_json_within_json_and_what_is_left_is_json(depth: int) -> None:
    redactor, text = Redactor({"DB_PASSWORD": AWKWARD}), json.dumps({"a": AWKWARD})
    for _ in range(depth - 1):
        text = json.dumps(text)
    value = redactor.redact_text(text)
    for _ in range(depth):
        value = json.loads(value)
    assert value == {"a": "[redacted:DB_PASSWORD]"}


@pytest.mark.attack(43)
@pytest.mark.parametrize(
    "text",
    [
        quote(quote(AWKWARD)),
        quote(json.dumps(AWKWARD), safe=""),
        json.dumps(quote(AWKWARD)),
        html.escape(AWKWARD),
        html.escape(json.dumps(AWKWARD)),
        json.dumps(AWKWARD).replace("/", "\\/"),
        shlex.quote(AWKWARD),
        repr(repr(AWKWARD)),
        json.dumps(repr(AWKWARD)),
    ],
)
def test_a_value_is_found_however_it_was_quoted_twice(text: str) -> None:
    redacted = Redactor({"DB_PASSWORD": AWKWARD}).redact_text(f"before {text} after")
    assert "[redacted:DB_PASSWORD]" in redacted
    assert len(redacted) < len("before  after [redacted:DB_PASSWORD]") + 14, redacted


def test_a_value_that_is_no_utf_8_is_found_as_it_is_and_as_it_is_shown() -> None:
    redactor = Redactor({"ODD_KEY": os.fsdecode(b"caf\xe9 1234567")})
    for text in (os.fsdecode(b"caf\xe9 1234567"), "caf\ufffd 1234567", "caf\u00e9 1234567", "caf\\udce9 1234567"):
        assert redactor.redact_text(text) == "[redacted:ODD_KEY]", text


def test_a_value_of_backslashes_and_blanks_matches_no_ordinary_text() -> None:
    redactor = Redactor({"A_KEY": "\\" * 12 + "ab"})
    assert redactor.redact_text("ab abc cab") == "ab abc cab"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", ["\\" * 1_000_000, "?token=" * 150_000, "? & #" * 200_000, "abcdefgh\\n" * 100_000])
def test_no_text_takes_long_to_redact(text: str) -> None:
    redactor = Redactor({"A_KEY": "abcdefgh123456"})
    assert redactor.redact_text(text) == text
    assert redactor.redact_text(f"{text}abcdefgh123456").endswith("[redacted:A_KEY]")


def test_the_longer_of_two_values_wins() -> None:
    redactor = Redactor({"A_KEY": "abcdefgh12", "B_KEY": "abcdefgh12345678"})
    assert redactor.redact_text("abcdefgh12345678 abcdefgh12") == "[redacted:B_KEY] [redacted:A_KEY]"


def test_values_too_short_to_be_told_from_words_are_left_alone() -> None:
    assert Redactor({"A_KEY": "true", "B_KEY": "abc1234"}).redact_text("true abc1234") == "true abc1234"


TOKENS = {
    "aws-access-key": "AKIA" + chance(16, "ABCDEFGHJKLMNPQRSTUVWXYZ234567"),
    "github-token": "ghp_" + chance(36),
    "gitlab-token": "glpat-" + chance(20),
    "slack-token": "xoxb-" + "1234567890-" + chance(24),
    "npm-token": "npm_" + chance(36),
    "pypi-token": "pypi-AgEIcHlwaS5vcmc" + chance(80),
    "anthropic-key": "sk-ant-" + "api03-" + chance(95),
    "openai-key": "sk-proj-" + chance(60),
    "google-key": "AIza" + chance(35),
    "stripe-key": "sk_live_" + chance(24),
    "jwt": "eyJ" + chance(30) + ".eyJ" + chance(60) + "." + chance(43),
    "private-key": "-----BEGIN RSA "
    + "PRIVATE KEY-----\n"
    + "\n".join([chance(64)] * 8)
    + "\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize("kind", TOKENS)
def test_tokens_are_known_by_the_marks_of_their_makers(kind: str) -> None:
    assert PATTERN_REDACTOR.redact_text(f"export TOKEN={TOKENS[kind]}\nnext") == f"export TOKEN=[redacted:{kind}]\nnext"


def test_only_the_secret_part_of_headers_and_urls_is_taken_out() -> None:
    told = f'curl -H "Authorization: Bearer {chance(40)}" https://me:{"7" + chance(13)}@host.example/path'
    assert PATTERN_REDACTOR.redact_text(told) == (
        'curl -H "Authorization: Bearer [redacted:authorization]" https://me:[redacted:url-password]@host.example/path'
    )


@pytest.mark.attack(43)
@pytest.mark.parametrize("name", ["access_token", "api-key", "sig", "X-Amz-Signature", "private_token", "TOKEN"])
@pytest.mark.parametrize("before", ["?", "?page=2&", "&amp;", "#", r"\u0026"])
def test_a_token_in_the_query_of_a_url_is_taken_out_and_nothing_else_of_it(name: str, before: str) -> None:
    told = f"GET https://host.example/a{before}{name}=7{chance(13)}%3D&user=7{chance(20)}"
    assert PATTERN_REDACTOR.redact_text(told) == told.replace(f"7{chance(13)}%3D", "[redacted:url-token]")


def test_a_private_key_that_was_cut_off_is_taken_out_too() -> None:
    assert PATTERN_REDACTOR.redact_text(TOKENS["private-key"][:300]) == "[redacted:private-key]"


@pytest.mark.parametrize(
    "text",
    [
        "sk-test sk-1234567890 ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "AKIAIOSFODNN7EXAMPLE",
        "Authorization: Bearer YOUR_ACCESS_TOKEN_HERE",
        "https://user:password@host/ postgres://postgres:postgres@localhost https://$USER:${PASS}@host",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709 123e4567-e89b-12d3-a456-426614174000",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        base64.b64encode(random.Random(1).randbytes(20_000)).decode(),
        "task-disk-risk-" + "a" * 48,
        "/a?token=YOUR_TOKEN_HERE1 /b?page_token=a1b2c3d4e5f6g7h8 /c?key=src-2024-10.js /d?token=${TOKEN_12345678}",
    ],
)
def test_samples_ids_and_images_are_no_tokens(text: str) -> None:
    assert PATTERN_REDACTOR.redact_text(text) == text


def test_hardly_anything_in_a_large_body_of_ordinary_code_is_taken_for_a_token() -> None:
    files = sorted(path for path in Path(pytest.__file__).parents[1].rglob("*.py") if path.is_file())[::25]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    touched = [str(path) for path, text in zip(files, texts, strict=True) if PATTERN_REDACTOR.redact_text(text) != text]
    assert sum(map(len, texts)) > 1_000_000
    assert len(touched) <= 1 + sum(map(len, texts)) // 5_000_000, touched


ODD = st.text() | st.lists(
    st.sampled_from([SECRET, *TOKENS.values(), "://a:", "@b", "-----BEGIN", "\n", " ", "sk-", "x"])
).map("".join)


@given(ODD)
def test_redacting_again_changes_nothing_and_nothing_is_raised(text: str) -> None:
    once = REDACTOR.redact_text(text)
    assert REDACTOR.redact_text(once) == once
    assert SECRET not in once
    assert text == once or has_mark(once)


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_halves_of_characters_are_no_trouble(text: str) -> None:
    assert REDACTOR.redact_text(text) == PATTERN_REDACTOR.redact_text(text)


def test_patterns_of_the_users_own_are_looked_for_too() -> None:
    redactor = Redactor(patterns=(r"corp-\d{6}",))
    assert redactor.redact_text("see corp-123456.") == "see [redacted:own-pattern]."


def test_what_a_model_says_loses_known_values_and_keeps_tokens_that_it_made_up() -> None:
    said = f"{TOKENS['github-token']} {SECRET}"
    assert REDACTOR.hide_known_secrets(said) == f"{TOKENS['github-token']} {MARK}"
