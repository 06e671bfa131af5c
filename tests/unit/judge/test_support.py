"""What of a base's tree is support: small trees, and what the gate's run on them opened."""

from collections.abc import Collection, Mapping

import pytest

from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.support.additions import has_only_additions
from orchestrator.judge.support.base_sources import BaseSources
from orchestrator.judge.support.division import TreeDivision

PYPROJECT = '[project]\nname = "shop"\nversion = "1"\n'
SHOP = {
    "shop/__init__.py": "",
    "shop/cart.py": "from shop import money\n",
    "shop/money.py": "def add(a, b): return a + b\n",
}
TEST = {"tests/test_cart.py": "from shop.cart import money\n"}


def divide(files: Mapping[str, str], unopened: Collection[str] = ()) -> dict[str, bool]:
    """Path → certain, of what is support in a tree of which the gate opens all but some files."""
    sources = {path: text.encode() for path, text in files.items()}
    division = TreeDivision(BaseSources(frozenset(files), sources), files.keys() - set(unopened))
    found = {}
    for path in files:
        if support := division.find_support(path):
            found[path] = support.is_certain
    return found


def test_a_package_with_its_tests_has_no_support() -> None:
    assert divide({**SHOP, **TEST, "pyproject.toml": PYPROJECT, "README.md": "shop\n"}) == {}


READS_GOLDEN = 'from shop.cart import money\nGOLDEN = open("golden/bill.txt").read()\n'
READS_FOLDER = 'import pathlib\nfrom shop import money\nCASES = list(pathlib.Path("cases").glob("*.csv"))\n'
ASSERTS = "def same(a, b):\n    assert a == b\n"
USES_ASSERTS = "from checks import same\nfrom shop.money import add\ndef test_add():\n    same(add(1, 2), 3)\n"
RAISES = (
    "import pytest\nfrom checks import same\n"
    "def test_same():\n    with pytest.raises(AssertionError):\n        same(1, 2)\n"
)


@pytest.mark.parametrize(
    ("files", "support"),
    [
        ({"golden/bill.txt": "3\n", "tests/test_bill.py": READS_GOLDEN}, {"golden/bill.txt": True}),
        ({"cases/sums.csv": "1,2,3\n", "tests/test_sums.py": READS_FOLDER}, {"cases/sums.csv": True}),
        ({"checks.py": ASSERTS, "tests/test_add.py": USES_ASSERTS}, {"checks.py": True}),
        ({"checks.py": "import pytest\n", "tests/test_add.py": "import checks\n"}, {"checks.py": True}),
        (
            {
                "checks.py": ASSERTS,
                "more.py": "import pytest\nimport checks\n",
                "tests/test_m.py": "import more\nimport checks\nchecks.same(1, 1)\n",
            },
            {"checks.py": True, "more.py": True},
        ),
        (
            {"shop/testing.py": "import pytest\n", "tests/test_t.py": "from shop.testing import *\n"},
            {"shop/testing.py": False},
        ),
        (
            {"shop/_vendor/six.py": "x = 1\n", "shop/money.py": "from shop._vendor import six\n"},
            {"shop/_vendor/six.py": True},
        ),
        ({"vendor/lib.js": "exports.x = 1\n"}, {"vendor/lib.js": True}),
        (
            {
                "lib/same/index.js": 'require("assert")\n',
                "lib/rows.js": 'require("assert")\n',
                "test/a.test.js": 'require("../lib/same")\nrequire("../lib/rows")\n',
            },
            {"lib/same/index.js": True, "lib/rows.js": False},
        ),
        ({"attr.py": "x = 1\n", "shop/money.py": "import attr\n"}, {"attr.py": False}),
        (
            {"attr.py": "x = 1\n", "shop/money.py": "import attr\n", "setup.cfg": "[options]\npackages = shop\n"},
            {"attr.py": True},
        ),
        ({"checks.py": ASSERTS, "tests/test_s.py": RAISES}, {"checks.py": False}),
        (
            {
                "checks/asserts.py": ASSERTS,
                "checks/cases.py": 'def load(name):\n    return open(f"data/{name}.csv")\n',
                "data/sums.csv": "1,2,3\n",
                "tests/test_c.py": "from checks.asserts import same\nfrom checks import cases\nsame(1, 1)\n",
            },
            {"checks/asserts.py": True, "checks/cases.py": True, "data/sums.csv": True},
        ),
        (
            {"tools/gen.py": 'open("text.csv")\n', "text.csv": "", "tests/test_gen.py": "from tools import gen\n"},
            {"tools/gen.py": False, "text.csv": False},
        ),
        ({"vite.config.js": "export default {}\n"}, {"vite.config.js": True}),
        ({"web/package.json": "{}", "web/vite.config.ts": "export default {}\n"}, {"web/vite.config.ts": True}),
        ({".cargo/config.toml": "[build]\n"}, {".cargo/config.toml": True}),
        ({"Cargo.toml": "", "build.rs": "fn main() {}\n"}, {"build.rs": True}),
        ({"setup.py": "print()\n"}, {"setup.py": True}),
        (
            {"rates.json": "{}", "shop/money.py": 'open("rates.json")\n', "tests/test_r.py": 'open("rates.json")\n'},
            {"rates.json": False},
        ),
        ({"README.md": "", "tests/test_r.py": 'open("README.md")\n'}, {"README.md": False}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_what_only_tests_or_the_gate_s_programs_read_is_support(
    files: dict[str, str], support: dict[str, bool]
) -> None:
    assert divide({**SHOP, **TEST, "pyproject.toml": PYPROJECT, **files}) == support


@pytest.mark.parametrize(
    "files",
    [
        {"shop/rates.json": "{}", "shop/money.py": 'open("shop/rates.json")\n'},
        {"shop/locale/de.json": "{}", "shop/money.py": 'open(f"locale/{x}.json")\n'},
        {"shop/plugins/pay.py": "x = 1\n"},
        {"docs/guide.md": "", "LICENSE": "", "data.bin": "", ".gitignore": ""},
        {"setup.cfg": "", "package.json": "{}"},
        {"wsgi.py": "x = 1\n"},
        {"shop/port.yaml": "", "tests/test_p.py": 'build("shop")\n'},
    ],
    ids="-".join,
)
def test_product_is_none_even_if_the_gate_opens_all_of_it(files: dict[str, str]) -> None:
    assert divide({**SHOP, **TEST, "pyproject.toml": PYPROJECT, **files}) == {}


def test_what_tests_import_is_product_where_no_metadata_says_what_is_shipped() -> None:
    vendor = {"vendor/models.py": "x = 1\n", "vendor/__init__.py": "", "tests/test_v.py": "from vendor import models\n"}
    assert divide({**SHOP, **TEST, **vendor, "checks.py": ASSERTS, "tests/test_s.py": RAISES}) == {}


def test_what_the_gate_did_not_open_is_none_and_code_that_it_did_not_open_reads_nothing() -> None:
    files = {
        **SHOP,
        "golden/bill.txt": "3\n",
        "tests/test_bill.py": READS_GOLDEN,
        "scripts/renew.py": 'open("golden/bill.txt")\n',
    }
    assert divide(files, ["golden/bill.txt"]) == {}
    assert divide(files, ["scripts/renew.py"]) == {"golden/bill.txt": True}


def test_without_a_watched_run_nothing_is_support() -> None:
    base = BaseSources(frozenset({"vite.config.js"}), {"vite.config.js": b""})
    assert TreeDivision(base, None).find_support("vite.config.js") is None


@pytest.mark.parametrize(
    ("path", "before", "after", "grew"),
    [
        ("cases.csv", "a,b\n1,2\n", "a,b\n1,2\n3,4\n", True),
        ("cases.csv", "a,b\n1,2\n", "a,b\n1,3\n", False),
        ("cases.json", '[{"a": 1}]', '[{"a": 1}, {"a": 2}]', True),
        ("cases.json", '[{"a": 1}]', '[{"a": 1.0}]', False),
        ("cases.json", "{", "{", False),
        ("checks.py", ASSERTS, f"{ASSERTS}def other():\n    assert 1\n", True),
        ("checks.py", ASSERTS, "def same(a, b):\n    pass\n", False),
        ("requirements-test.txt", "pytest\n", "pytest\nrich>=3\n", True),
        ("requirements-test.txt", "pytest\n", "pytest\n-e ./evil\n", False),
        ("requirements-test.txt", "pytest\n", "pytest\nevil @ file:///x\n", False),
        ("vite.config.js", "a\n", "a\nb\n", False),
        ("golden.bin", "a\n", "a\nb\n", False),
    ],
)
def test_support_may_gain_what_leaves_all_that_was_there(path: str, before: str, after: str, grew: bool) -> None:
    file = ChangedFile(path, before.encode(), after.encode(), old_mode="100644", new_mode="100644")
    assert has_only_additions(file) == grew
