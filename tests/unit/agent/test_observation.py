import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.text.truncation import LIMIT_CHARS, LINE_CHARS, TruncatedText, truncate_bytes, truncate_text


def test_a_short_text_stays_as_it_is() -> None:
    assert truncate_text("one\n\ttwo\n") == TruncatedText(text="one\n\ttwo\n", total_chars=9, is_capped=False)


def test_an_empty_text() -> None:
    assert truncate_text("") == TruncatedText(text="", total_chars=0, is_capped=False)


def test_head_and_tail_are_cut_between_lines_and_the_middle_is_counted() -> None:
    text = "".join(f"line {n:03}\n" for n in range(100))
    assert truncate_text(text, 300) == TruncatedText(
        text="".join(f"line {n:03}\n" for n in range(10))
        + "[... 720 characters, 80 lines, left out here ...]\n"
        + "".join(f"line {n:03}\n" for n in range(90, 100)),
        total_chars=900,
        is_capped=True,
    )


def test_text_without_line_breaks_nearby_is_cut_anywhere() -> None:
    capped = truncate_text("ab" * 500, 300)
    assert capped.text == f"{'ab' * 45}\n[... 820 characters, 1 line, left out here ...]\n{'ab' * 45}"


def test_the_default_limit_keeps_sixteen_thousand_characters() -> None:
    assert not truncate_text("a\n" * (LIMIT_CHARS // 2)).is_capped
    capped = truncate_text("a\n" * LIMIT_CHARS)
    assert LIMIT_CHARS - 200 < len(capped.text) <= LIMIT_CHARS


def test_a_long_line_is_cut_with_a_note() -> None:
    capped = truncate_text(f"before\n{'x' * (LINE_CHARS + 1234)}\nafter\n")
    assert capped == TruncatedText(
        text=f"before\n{'x' * LINE_CHARS} [... 1,234 more characters in this line]\nafter\n",
        total_chars=LINE_CHARS + 1248,
        is_capped=True,
    )


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\x00b", "a␀b"),
        ("bell\x07", "bell␇"),
        ("\x1b[31mred\x1b[0m \x1b[1;38;5;9mbold\x1b[m\x1b[K", "red bold"),
        ("\x1b]0;title\x07\x1b[2J", "␛]0;title␇␛[2J"),
        ("10%\r20%\r\ndone", "10%␍20%\ndone"),
        ("del\x7f csi\x9b", "del␡ csi<U+009B>"),
        ("user\u202etxt.exe", "user<U+202E>txt.exe"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("half \ud83d", "half \ufffd"),
        ("tab\tand é 😀 \u2028", "tab\tand é 😀 \u2028"),
    ],
)
def test_what_cannot_be_seen_is_shown(raw: str, shown: str) -> None:
    assert truncate_text(raw).text == shown


def test_whole_output_read_as_overlapping_ends() -> None:
    output = "héllo\nworld\n".encode()
    assert truncate_bytes(output[:8], output[4:], len(output)) == TruncatedText(
        text="héllo\nworld\n", total_chars=12, is_capped=False
    )


def test_output_of_which_only_the_ends_were_read() -> None:
    capped = truncate_bytes(b"first\nsecond\n", b"last\n", 1_000_018)
    assert capped == TruncatedText(
        text="first\nsecond\n[... about 1,000,000 bytes left out here ...]\nlast\n",
        total_chars=1_000_018,
        is_capped=True,
    )


def test_ends_that_were_cut_inside_a_character() -> None:
    word = "日本語".encode()
    capped = truncate_bytes(word[:5], word[4:], 1_000)
    assert capped.text.startswith("日\n[...")
    assert capped.text.endswith("...]\n語")


def test_long_ends_are_cut_to_the_limit() -> None:
    capped = truncate_bytes(b"a\n" * 500, b"b\n" * 500, 1_000_000, limit_chars=320)
    assert capped.text == "a\n" * 50 + "[... about 999,800 bytes left out here ...]\n" + "b\n" * 50


def test_bytes_that_are_no_utf_8_are_replaced() -> None:
    assert truncate_bytes(b"caf\xe9\0", b"", 5).text == "caf\ufffd␀"


TEXT = st.text(st.sampled_from("ab\n\r\x00\x1bé\u202e😀") | st.characters(), max_size=600)


@settings(deadline=None)
@given(TEXT, st.integers(200, 500))
def test_a_capped_text_is_within_the_limit_and_visible(text: str, limit: int) -> None:
    capped = truncate_text(text, limit)
    assert len(capped.text) <= limit
    assert capped.total_chars == len(text)
    assert not [letter for letter in capped.text if unicodedata.category(letter) == "Cc" and letter not in "\n\t"]
    assert capped.text.encode().decode() == capped.text


@settings(deadline=None)
@given(st.text("ab \n", max_size=900), st.integers(200, 500))
def test_what_is_kept_is_the_beginning_and_the_end(text: str, limit: int) -> None:
    capped = truncate_text(text, limit)
    head, marker, tail = capped.text.partition("[... ")
    if capped.is_capped:
        assert marker
        assert text.startswith(head.removesuffix("\n"))
        assert text.endswith(tail.partition("...]\n")[2])
    else:
        assert capped.text == text


@settings(deadline=None)
@given(st.binary(max_size=400), st.binary(max_size=400), st.integers(0, 900), st.integers(200, 400))
def test_any_bytes_are_within_the_limit(head: bytes, tail: bytes, more: int, limit: int) -> None:
    total = max(len(head), len(tail)) + more
    capped = truncate_bytes(head, tail, total, limit)
    assert len(capped.text) <= limit
    assert "\x00" not in capped.text
