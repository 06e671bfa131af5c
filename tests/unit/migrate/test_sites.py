"""Sites that regular expressions find, and what commands say of sites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.recipe.model import Scope
from orchestrator.errors import UsageProblem
from orchestrator.migrate.sites.command_search import parse_places
from orchestrator.migrate.sites.finder import count_remaining_sites, find_sites, sum_weights
from orchestrator.migrate.sites.regex_worker import find_matches

SCOPE = Scope.model_validate(
    {
        "include": ["*"],
        "site": [{"id": "old", "pattern": "old"}, {"id": "begin", "pattern": "^old$", "weight": 0.5}],
    }
)


async def test_places_count_lines_and_characters_from_one_and_stand_in_order() -> None:
    found = await find_sites(SCOPE, {"b.txt": b"old\n\xc3\xa9\xc3\xa9 old old\n\nxold", "a.txt": b"new\n"})
    assert {path: [(p.site, p.line, p.column) for p in places] for path, places in found.places.items()} == {
        "b.txt": [("begin", 1, 1), ("old", 1, 1), ("old", 2, 4), ("old", 2, 8), ("old", 4, 2)]
    }
    assert sum_weights(SCOPE, found.places["b.txt"]) == 4.5


@given(st.lists(st.sampled_from([b"old", b"\n", b"x", b"\xff", b" "])).map(b"".join))
def test_every_place_is_where_the_match_stands_and_none_is_left_out(content: bytes) -> None:
    found = list(find_matches("old", content))
    lines = content.decode("utf-8", "replace").split("\n")
    assert len(found) == content.count(b"old")
    assert all(lines[line - 1][column - 1 :].startswith("old") for line, column in found)


async def test_a_count_is_as_many_as_there_are_places() -> None:
    content = b"old\nxold old\xff\n"
    found = (await find_sites(SCOPE, {"a": content, "b": b""})).places
    assert await count_remaining_sites(SCOPE, {"a": content, "b": b""}) == {"a": len(found["a"]), "b": 0}


async def test_a_pattern_that_never_ends_is_told_with_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.migrate.sites.finder._REGEX_S", 0.3)
    endless = Scope.model_validate({"include": ["*"], "site": [{"id": "deep", "pattern": "(a+)+$"}]})
    with pytest.raises(UsageProblem, match=r"site deep: its pattern finds no end on bad\.txt within 0\.3 s"):
        await find_sites(endless, {"good.txt": b"aa", "bad.txt": b"a" * 50 + b"!"})


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("a.py:3", (3, 1)),
        ("./a.py:3:7", (3, 7)),
        ("a.py:3:7: E501 too long", (3, 7)),
        ("a.py:3:text of the line: 5", (3, 1)),
        ("a.py:12:\r", (12, 1)),
    ],
)
def test_lines_of_greps_and_linters_name_sites(line: str, place: tuple[int, int]) -> None:
    assert parse_places("s", f"\n{line}\n", {"a.py"}).places == {"a.py": [place]}


@pytest.mark.parametrize("line", ["a.py", "a.py:x", "a.py:0", ":3", "3 sites found", "a.py:99999999999"])
def test_a_line_that_names_no_site_is_refused_with_its_number(line: str) -> None:
    with pytest.raises(UsageProblem, match="site s: line 2 of what its command printed"):
        parse_places("s", f"a.py:1\n{line}\n", {"a.py"})


def test_many_foreign_files_are_told_in_one_notice_without_control_characters() -> None:
    printed = "".join(f"other{n}\x1b[31m.py:1\n" for n in range(9)) + "../a.py:1\n/etc/passwd:1\n"
    hits = parse_places("s", printed, {"a.py"})
    assert hits.places == {}
    assert [text for text in hits.notices if text.endswith("and 6 more") and "\x1b" not in text]
    assert len(hits.notices) == 1


def test_one_place_named_twice_by_a_command_is_one_site() -> None:
    assert parse_places("s", "a.py:1:1\na.py:1\n", {"a.py"}).places == {"a.py": [(1, 1)]}
