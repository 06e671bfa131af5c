"""Which other files tell a model most: imported ones and near ones, and accepted changes of the same kind."""

from orchestrator.domain.migration.files import FileRecord, FileStatus, SitePlace
from orchestrator.migrate.models.related_files import (
    choose_examples,
    choose_siblings,
    measure_distance,
    parse_imported_names,
)


def record(path: str, *sites: str, status: FileStatus = FileStatus.MERGED, landed: str | None = "new") -> FileRecord:
    places = tuple(SitePlace(site=site, line=1) for site in sites)
    return FileRecord(path=path, base="old", mode="100644", places=places, status=status, landed=landed)


def test_imports_are_found_in_python_and_javascript() -> None:
    python = "import os, shop.cart as c\nfrom shop.money import cents\n    from .tax import rate\nx = 'import y'\n"
    assert {"os", "cart", "money", "cents", "tax", "rate"} <= parse_imported_names(python)
    script = "const a = require('./lib/parse')\nimport b from '../money.js'\nimport './setup'\n"
    assert {"parse", "money", "setup"} <= parse_imported_names(script)


def test_what_a_file_imports_comes_before_its_neighbours_and_these_before_what_lies_further_off() -> None:
    text = "from shop.money import cents\n"
    others = ["docs/money.md", "tools/a.py", "shop/cart.py", "lib/shop/money.py", "tests/test_cart.py"]
    chosen = choose_siblings("shop/order.py", text, [*others, "shop/order.py"], 3)
    assert chosen == ["lib/shop/money.py", "shop/cart.py", "tests/test_cart.py"]


def test_distance_counts_directories_on_the_way() -> None:
    assert [measure_distance("a/b/x.py", other) for other in ("a/b/y.py", "a/y.py", "a/c/y.py", "y.py")] == [0, 1, 2, 2]


def test_accepted_changes_to_the_same_kinds_of_sites_are_the_best_examples() -> None:
    mine = record("a/x.py", "equal", "raises", status=FileStatus.EJECTED, landed=None)
    files = [
        record("a/near.py", "other"),
        record("z/far.py", "equal", "raises"),
        record("b/half.py", "equal"),
        record("a/failed.py", "equal", "raises", status=FileStatus.EJECTED, landed=None),
        record("a/same.py", "equal", "raises", landed="old"),
        mine,
    ]
    assert [file.path for file in choose_examples(mine, files, 9)] == ["z/far.py", "b/half.py", "a/near.py"]
    assert len(choose_examples(mine, files, 1)) == 1
