"""The directories whose rules hold for some paths: the nearest first, always those above, never those beside."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.project_rules.nearest import list_rule_directories

ALL = ("", "packages", "packages/web", "packages/web/src", "packages/api", "app/[slug]", "app/[other]")


@pytest.mark.parametrize(
    ("paths", "directories"),
    [
        ((), ("",)),
        (("README.md",), ("",)),
        (("packages/web/a.js",), ("packages/web", "packages", "")),
        (("./packages/web/",), ("packages/web/src", "packages/web", "packages", "")),
        (("packages/web", "packages/api/x.py"), ("packages/web/src", "packages/api", "packages/web", "packages", "")),
        (("packages/*/src/**",), ("packages/web/src", "packages/api", "packages/web", "packages", "")),
        (("packages/api/*.py",), ("packages/api", "packages", "")),
        (("packages/webapp/x.js",), ("packages", "")),
        (("app/[slug]/page.tsx",), ("app/[slug]", "")),
    ],
)
def test_rules_hold_where_a_path_can_lie_the_deepest_first(
    paths: tuple[str, ...], directories: tuple[str, ...]
) -> None:
    assert list_rule_directories(paths, ALL) == directories


_NAMES = st.lists(st.sampled_from("abc"), max_size=4).map("/".join)


@given(st.lists(_NAMES, min_size=1, max_size=6, unique=True), _NAMES.filter(bool))
def test_the_nearest_directory_above_a_file_comes_first_and_those_beside_it_never(
    directories: list[str], folder: str
) -> None:
    file = f"{folder}/file.py"
    above = [str(parent) for parent in PurePosixPath(file).parents]
    wanted = [("" if name == "." else name) for name in above if ("" if name == "." else name) in directories]
    assert list(list_rule_directories((file,), directories)) == wanted
