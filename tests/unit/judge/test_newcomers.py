"""New files that the gate's run read although nobody asked for them."""

from collections.abc import Collection, Mapping

import pytest

from orchestrator.judge.support.base_sources import BaseSources
from orchestrator.judge.support.newcomers import NewcomerFinder

BASE = {
    "shop/__init__.py": "",
    "shop/money.py": "import yaml\ntry:\n    import fast\nexcept ImportError:\n    fast = None\n",
    "shop/locale/de.json": "{}",
    "tests/test_money.py": "import shop.money\nimport later\n",
    "package.json": "{}",
}


def find(new: Mapping[str, str], unopened: Collection[str] = (), base: Mapping[str, str] = BASE) -> dict[str, bool]:
    """Path → certain, of the new files that speak against a change whose run opens all of them."""
    before = BaseSources(frozenset(base), {path: text.encode() for path, text in base.items()})
    both = {path: text.encode() for path, text in {**base, **new}.items()}
    finder = NewcomerFinder(before, base.keys() - set(unopened), BaseSources(frozenset(both), both))
    found = {}
    for path in new:
        if newcomer := finder.find_newcomer(path):
            found[path] = newcomer.is_certain
    return found


@pytest.mark.parametrize(
    ("new", "found"),
    [
        ({"evil.egg-info/entry_points.txt": "", "evil.py": ""}, {"evil.egg-info/entry_points.txt": True}),
        ({"vite.config.js": "", "main.js": ""}, {"vite.config.js": True}),
        ({".cargo/config.toml": ""}, {".cargo/config.toml": True}),
        ({"yaml.py": ""}, {"yaml.py": True}),
        ({"yaml/__init__.py": ""}, {"yaml/__init__.py": True}),
        (
            {"src/shop/__init__.py": "", "lib/shop/money.py": ""},
            {"src/shop/__init__.py": True, "lib/shop/money.py": True},
        ),
        ({"fast.py": ""}, {"fast.py": False}),
        ({"later.py": ""}, {"later.py": False}),
        ({"web/package.json": ""}, {"web/package.json": False}),
    ],
    ids="-".join,
)
def test_what_programs_look_for_and_no_code_names_is_found(new: dict[str, str], found: dict[str, bool]) -> None:
    assert find(new) == found


@pytest.mark.parametrize(
    "new",
    [
        {"shop/rates.json": "{}", "shop/rates.py": 'open("shop/rates.json")\n'},
        {"shop/locale/fr.json": "{}"},
        {"shop/texts/fr.toml": "", "shop/texts.py": 'Path("texts").glob(name)\n'},
        {"shop/cart.py": "", "tests/test_cart.py": "import shop.cart\n", "tests/data/cart.json": "{}"},
        {"docs/conf.md": "", "README.md": "", ".gitignore": ""},
        {"shop/_plugins/pay.py": ""},
        {"wsgi.py": ""},
        {"shop/export/__init__.py": "", "shop/export/yaml.py": "", "src/new/yaml.py": ""},
    ],
    ids="-".join,
)
def test_what_a_change_brings_for_its_own_code_is_not(new: dict[str, str]) -> None:
    assert find(new) == {}


def test_a_file_of_a_kind_of_which_a_linter_opens_all_is_not() -> None:
    base = {**BASE, "a/one.yaml": "", "b/two.yaml": "", "three.yaml": ""}
    assert find({"four.yaml": ""}, base=base) == {}
    assert find({"four.yaml": ""}, ["a/one.yaml"], base) == {"four.yaml": True}
