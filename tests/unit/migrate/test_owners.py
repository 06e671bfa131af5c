"""CODEOWNERS: whose a file is, as the forges read it."""

import pytest

from orchestrator.errors import UsageProblem
from orchestrator.migrate.scope.inventory import find_owners_file, match_owners

RULES = """\
# comment
*            @all
*.js         @js @web   # trailing comment
/docs/       @docs
guides/*     docs@example.org
apps/        @apps
/build/logs/
**/logs      @logs
spaced\\ name.txt @space
!negated.py  @nobody
[0-9].py     @range
/src/**/deep.py @org/deep
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("anything", "@all"),
        ("web/app.js", "@js @web"),
        ("docs/a/b.md", "@docs"),
        ("other/docs/a.md", "@all"),
        ("guides/a.md", "docs@example.org"),
        ("guides/deeper/a.md", "@all"),
        ("x/apps/y/z.py", "@apps"),
        ("x/logs/y", "@logs"),
        ("spaced name.txt", "@space"),
        ("negated.py", "@all"),
        ("src/deep.py", "@org/deep"),
        ("src/a/b/deep.py", "@org/deep"),
    ],
)
def test_the_last_rule_that_fits_decides(path: str, owners: str) -> None:
    assert match_owners(RULES, [path]) == {path: owners}


def test_a_rule_without_owners_makes_files_nobodys() -> None:
    assert match_owners("* @all\n/vendor/\n", ["vendor/a.py", "a.py"]) == {"vendor/a.py": "", "a.py": "@all"}


def test_owners_of_a_section_are_those_of_its_rules_that_name_none() -> None:
    text = "[Backend][2] @back @end\n*.py\nspecial.py @me\n\n^[Optional]\n*.md\n"
    found = match_owners(text, ["a.py", "special.py", "b.md"])
    assert found == {"a.py": "@back @end", "special.py": "@me", "b.md": ""}


def test_a_line_whose_pattern_cannot_be_read_is_left_out() -> None:
    found = match_owners("* @all\n[z-a].py @range\na\\ @escape\n", ["a.py", "[z-a].py"])
    assert found == {"a.py": "@all", "[z-a].py": "@all"}


def test_the_file_is_looked_for_where_the_forges_look() -> None:
    assert find_owners_file({"docs/CODEOWNERS", "CODEOWNERS", "a.py"}) == "CODEOWNERS"
    assert find_owners_file({"a.py"}) is None
    assert find_owners_file({"OWNERS.txt"}, "OWNERS.txt") == "OWNERS.txt"
    with pytest.raises(UsageProblem, match="no such file"):
        find_owners_file({"CODEOWNERS"}, "OWNERS.txt")
