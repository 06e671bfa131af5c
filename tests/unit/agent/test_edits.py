import tomllib
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from orchestrator.agent.edits.editor import EditResult, apply_edit
from orchestrator.agent.edits.file_text import EditedSpan, MatchLevel
from orchestrator.agent.edits.refusals import LIMIT_CHARS, EditRefusal, EditRefusalReason

SCENARIOS = sorted(path for path in (Path(__file__).parents[2] / "scenarios" / "edits").iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", SCENARIOS, ids=lambda folder: folder.name)
def test_scenario(folder: Path) -> None:
    asked = tomllib.loads((folder / "edit.toml").read_bytes().decode())
    before = (folder / "before").read_bytes()
    result = apply_edit(before, asked["old"], asked["new"], asked.get("replace_all", False))
    if "rung" in asked:
        spans = tuple(EditedSpan(*span) for span in asked["lines"])
        assert result == EditResult(
            content=(folder / "after").read_bytes(), rung=MatchLevel(asked["rung"]), spans=spans
        )
    else:
        text = (folder / "refusal.txt").read_bytes().decode().removesuffix("\n")
        assert result == EditRefusal(reason=EditRefusalReason(asked["reason"]), text=text)


def test_there_are_scenarios_for_every_rung_and_reason() -> None:
    asked = [tomllib.loads((folder / "edit.toml").read_bytes().decode()) for folder in SCENARIOS]
    assert {each.get("rung") for each in asked} - {None} == set(MatchLevel)
    assert {each.get("reason") for each in asked} - {None} == set(EditRefusalReason)
    assert len(asked) >= 40


# One row a rung: `old` matches two places at that rung and none at a stricter one. Whoever drops the uniqueness check
# of a rung, or lets an ambiguous rung fall through to the next, turns the row red. The third place of each file is
# what a looser rung would find alone.
TWO_CANDIDATES = {
    MatchLevel.EXACT: ("go(1)\nx\ngo(1)\n", "go(1)\n"),
    MatchLevel.TRAILING: ("go(1)\nx\ngo(1)  \n", "go(1) \n"),
    MatchLevel.TYPOGRAPHY: ("go('a')\nx\ngo(’a’)\n", "go(‘a’)\n"),
    MatchLevel.INDENT: ("  if a:\n    go()\nx\n    if a:\n      go()\n", "if a:\n  go()\n"),
    MatchLevel.NUMBERS: ("  go(1)\nx\n  go(1)\n", "3\t  go(1)\n"),
}


@pytest.mark.parametrize("rung", MatchLevel)
def test_two_candidates_at_a_rung_are_refused_naming_their_lines(rung: MatchLevel) -> None:
    before, old = TWO_CANDIDATES[rung]
    result = apply_edit(before.encode(), old, "went()\n")
    assert isinstance(result, EditRefusal)
    second = before.count("\n", 0, before.index("x\n")) + 2
    assert (result.reason, f"2 places, at lines 1, {second}." in result.text) == (EditRefusalReason.AMBIGUOUS, True)


@pytest.mark.parametrize("rung", MatchLevel)
def test_one_candidate_at_a_rung_is_edited_there(rung: MatchLevel) -> None:
    before, old = TWO_CANDIDATES[rung]
    alone = before[before.index("x\n") :]
    result = apply_edit(alone.encode(), old.replace("3\t", "2\t"), "went()\n")
    assert isinstance(result, EditResult)
    assert (result.rung, result.content) == (rung, f"x\n{'    ' * (rung == MatchLevel.INDENT)}went()\n".encode())


@pytest.mark.parametrize("rung", [MatchLevel.TRAILING, MatchLevel.TYPOGRAPHY, MatchLevel.INDENT])
def test_an_ambiguous_rung_does_not_fall_through_to_a_looser_one(rung: MatchLevel) -> None:
    """At the looser rungs there are more matches still, so a fall would be refused too, but by another name."""
    before, old = TWO_CANDIDATES[rung]
    result = apply_edit((before + "        " + before.splitlines()[0].strip() + "  \n").encode(), old, "went()\n")
    assert isinstance(result, EditRefusal)
    assert result.reason == EditRefusalReason.AMBIGUOUS
    assert "2 places" in result.text


def test_replace_all_loosens_no_rung() -> None:
    before, old = TWO_CANDIDATES[MatchLevel.TRAILING]
    assert isinstance(apply_edit(before.encode(), old, "went()\n", replace_all=True), EditRefusal)


def test_half_a_surrogate_pair_is_refused() -> None:
    result = apply_edit(b"a\n", "a", "b\ud83d")
    assert isinstance(result, EditRefusal)
    assert result.reason == EditRefusalReason.ENCODING


def test_a_refusal_is_bounded_however_long_the_quote() -> None:
    before = "".join(f"value_{n} = compute({n}, {'x' * 500})\n" for n in range(2_000))
    result = apply_edit(before.encode(), before.replace("compute", "count"), "new\n" * 5_000)
    assert isinstance(result, EditRefusal)
    assert len(result.text) <= LIMIT_CHARS


def test_summary_names_the_lines_and_a_loose_rung() -> None:
    result = apply_edit(b"a\nb\nc\n", "b \n", "x\ny\n")
    assert isinstance(result, EditResult)
    assert result.summary == "Edited lines 2-3. `old` was not exact; matched by trailing-space."


def test_summary_of_a_deletion_says_where_the_lines_were() -> None:
    result = apply_edit(b"a\nb\nc\n", "b\n", "")
    assert isinstance(result, EditResult)
    assert result.summary == "Edited line 2 (lines before it are gone)."


# Properties

PLAIN = st.text(st.sampled_from("ab \t\n(“é\u2028"), max_size=60)


@settings(deadline=None)
@given(PLAIN, PLAIN, st.data())
def test_an_exact_unique_edit_equals_str_replace(text: str, new: str, data: st.DataObject) -> None:
    assume(text)
    start = data.draw(st.integers(0, len(text) - 1))
    old = text[start : data.draw(st.integers(start + 1, len(text)))]
    assume(old != new and sum(text.startswith(old, at) for at in range(len(text))) == 1)
    result = apply_edit(text.encode(), old, new)
    assert isinstance(result, EditResult)
    assert (result.rung, result.content.decode()) == (MatchLevel.EXACT, text.replace(old, new))


@settings(deadline=None)
@given(PLAIN, PLAIN, st.data())
def test_a_crlf_file_is_edited_as_its_lf_twin(text: str, new: str, data: st.DataObject) -> None:
    old = data.draw(st.sampled_from([text[:7], text[3:9], text[5:30], f"{text[2:12]} ", new]))
    lf = apply_edit(("x\n" + text).encode(), old, new)
    crlf = apply_edit(("x\n" + text).replace("\n", "\r\n").encode(), old, new)
    if isinstance(lf, EditResult):
        assert crlf == lf.model_copy(update={"content": lf.content.replace(b"\n", b"\r\n")})
    else:
        assert crlf == lf


@settings(deadline=None)
@given(st.lists(st.sampled_from(["f(a)", "  f(a)", "\tg “b”", "é", ""]), min_size=1, max_size=8), st.data())
def test_replace_all_equals_str_replace(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    old = data.draw(st.sampled_from(["f(a)", "(", "a)\n", "\n", "é", "b"]))
    new = data.draw(st.sampled_from(["f(b)\n", "", "[", "x\n\ny"]))
    assume(old in text)
    result = apply_edit(text.encode(), old, new, replace_all=True)
    assert isinstance(result, EditResult)
    assert result.content.decode() == text.replace(old, new)


def _numbered(lines: list[str], start: int, form: str) -> list[str]:
    return [form.format(n, line) for n, line in enumerate(lines, start + 1)]


CORRUPTIONS = {
    "none": lambda lines, _: lines,
    "trailing space": lambda lines, _: [f"{line}  " for line in lines],
    "trailing tab on one line": lambda lines, _: [*lines[:-1], lines[-1] + "\t"],
    "dedented": lambda lines, _: [line.removeprefix("    ") for line in lines],
    "indented": lambda lines, _: [f"    {line}" if line else line for line in lines],
    "first line dedented": lambda lines, _: [lines[0].lstrip(), *lines[1:]],
    "first line dedented and trailing space": lambda lines, _: [lines[0].lstrip() + " ", *lines[1:]],
    "blank first line": lambda lines, _: ["", *lines],
    "curly quotes": lambda lines, _: [line.replace("'", "’").replace('"', "“") for line in lines],
    "no-break spaces": lambda lines, _: [line.replace(" ", "\u00a0") for line in lines],
    "numbered with tabs": lambda lines, at: _numbered(lines, at, "{}\t{}"),
    "numbered with bars": lambda lines, at: _numbered(lines, at, "{:5}| {}"),
    "numbered with colons": lambda lines, at: _numbered(lines, at, "{}:{}"),
    "tabs for spaces": lambda lines, _: [line.replace("    ", "\t") for line in lines],
    "one letter wrong": lambda lines, _: [lines[0] + "x", *lines[1:]],
    "middle elided": lambda lines, _: [lines[0], "...", lines[-1]],
}
CALLS = ["use('a')", 'say("b", 1)', "if x - y:", "return 'c'", "", "end"]
LINE = st.builds(lambda depth, call: ("    " * depth + call) if call else "", st.integers(0, 3), st.sampled_from(CALLS))


def _likened(lines: list[str]) -> list[str]:
    return [line.replace("’", "'").replace("“", '"').replace("\u00a0", " ").strip() for line in lines]


@settings(deadline=None)
@given(st.lists(LINE, min_size=1, max_size=14), st.sampled_from(sorted(CORRUPTIONS)), st.data())
def test_a_corrupted_quote_never_edits_anything_but_lines_like_it(
    lines: list[str], kind: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(lines) - 1))
    block = lines[start : data.draw(st.integers(start + 1, len(lines)))]
    assume(any(block))
    old = CORRUPTIONS[kind](block, start)
    result = apply_edit("".join(f"{line}\n" for line in lines).encode(), "\n".join(old) + "\n", "MARK\n")
    if isinstance(result, EditRefusal):
        return
    text = result.content.decode()
    assert text.count("MARK") == 1
    size = len(lines) - (text.count("\n") - 1)
    at = text.count("\n", 0, text.index("MARK"))
    assert text.splitlines()[:at] + lines[at : at + size] + text.splitlines()[at + 1 :] == lines
    if result.rung not in {MatchLevel.EXACT, MatchLevel.NUMBERS}:
        assert _likened(lines[at : at + size]) == _likened(old)
        same = [n for n in range(len(lines) - size + 1) if lines[n : n + size] == lines[at : at + size]]
        assert same == [at]


@settings(deadline=None)
@given(st.lists(LINE, min_size=1, max_size=14), st.sampled_from(sorted(CORRUPTIONS)), st.data())
def test_a_corrupted_quote_of_unlike_lines_is_edited_rightly_or_refused(
    lines: list[str], kind: str, data: st.DataObject
) -> None:
    lines = [f"{line}  # {chr(97 + n)}" if line else "" for n, line in enumerate(lines)]
    start = data.draw(st.integers(0, len(lines) - 1))
    block = lines[start : data.draw(st.integers(start + 1, len(lines)))]
    assume(block[0] and block[-1])
    changed = data.draw(st.sampled_from([n for n, line in enumerate(block) if line]))
    wanted = [*block[:changed], block[changed].replace("#", "# new"), *block[changed + 1 :]]
    old, new = (CORRUPTIONS[kind](part, start) for part in (block, wanted))
    before = "".join(f"{line}\n" for line in lines)
    result = apply_edit(before.encode(), "\n".join(old) + "\n", "\n".join(new) + "\n")
    if isinstance(result, EditResult):
        right = "".join(f"{line}\n" for line in [*lines[:start], *wanted, *lines[start + len(block) :]])
        assert "\n".join(map(str.rstrip, result.content.decode().split("\n"))) == right
        assert result.spans == (EditedSpan(start + changed + 1, start + changed + 1),)
    else:
        assert kind not in {"none", "trailing space", "trailing tab on one line", "curly quotes", "numbered with tabs"}


WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
BYTES_LINE = st.binary(max_size=6).map(lambda line: line.replace(b"\n", b"").replace(b"\r", b""))


@settings(deadline=None)
@given(st.lists(st.tuples(BYTES_LINE, st.sampled_from([b"\n", b"\r\n"])), max_size=6), BYTES_LINE, st.booleans())
def test_bytes_outside_the_edited_lines_are_untouched(
    rest: list[tuple[bytes, bytes]], last: bytes, is_marked: bool
) -> None:
    after = b"".join(line + ending for line, ending in rest) + last
    before = b"\xef\xbb\xbf" * is_marked + after + b"\r\n"
    assume(b"def " not in after and not before.startswith(WIDE_MARKS))
    result = apply_edit(before + b"def a():\n  pass\r\n" + after, "  def a(): \n    pass\n", "  def b():\n    pass\n")
    assert isinstance(result, EditResult)
    assert result.content == before + b"def b():\n  pass\r\n" + after
