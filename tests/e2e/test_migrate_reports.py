"""What the verbs that only read say of one real migration: status, report."""

import csv
import io
from pathlib import Path

import pytest

from tests.running.cli import Finished
from tests.running.in_process import orchestrate
from tests.running.projects import GATE, repository

pytestmark = [pytest.mark.sandbox]

RECIPE = f"""
schema = 1
[migration]
id = "words"
title = "New words"
[scope]
include = ["*.txt"]
[[scope.site]]
id = "old"
pattern = "old"
[[step]]
id = "sed"
run = "sed -i s/old/new/g {{files}}"
[verify]
report = "unittest"
[[verify.check]]
id = "t"
run = "{GATE}"
"""
TEST = (
    "import pathlib, unittest\n\n\nclass T(unittest.TestCase):\n    def test_{name}(self):\n"
    "        self.assertIn(pathlib.Path('{name}.txt').read_text().strip(), {allowed})\n"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished migration: `a` and `b` landed, `c` broke its test."""
    home = tmp_path_factory.mktemp("reports")
    files = {".gitignore": "__pycache__/\n", "a.txt": "old old\n", "b.txt": "old\n", "c.txt": "old\n"}
    allowed = {"a": ["old old", "new new"], "b": ["old", "new"], "c": ["old"]}
    repository(home / "repo", files | {f"test_{n}.py": TEST.format(name=n, allowed=w) for n, w in allowed.items()})
    (home / "recipe.toml").write_text(RECIPE)
    assert says(home, "run", str(home / "recipe.toml")).code == 3
    return home


def says(home: Path, *words: str) -> Finished:
    return orchestrate("migrate", *words, "--repo", home / "repo", "--state", home / "state", cwd=home)


def test_status_tells_sites_files_reasons_and_what_comes_next(home: Path) -> None:
    lines = says(home, "status").out.splitlines()
    assert any("New words  rev 1  sites 4 -> 1" in line for line in lines), lines
    assert any("files 2/3 landed  1 failed (1 rejected)" in line for line in lines), lines
    assert any(line.startswith("  1 file failed: ") and line.endswith("(c.txt)") for line in lines), lines
    assert any("why 1 file did not land" in line for line in lines), lines


def test_status_as_an_object_is_the_kept_projection_and_has_the_series(home: Path) -> None:
    burndown = says(home, "status", "--json").json["burndown"]
    assert (burndown["schema"], burndown["now"]["remaining"]) == ("orchestrate.burndown/1", 1.0)
    assert burndown["series"][0]["sites"] == 4.0
    assert burndown["series"][-1] | {"at": 0, "worked": 0} == {
        "at": 0,
        "worked": 0,
        "sites": 1.0,
        "spent_usd": 0.0,
        "mark": "ended: partial",
        "files": {"merged": 2, "rejected": 1},
    }


def test_a_file_a_group_and_a_watched_run_that_has_ended_are_shown(home: Path) -> None:
    file = says(home, "status", "latest", "a.txt", "--json").json
    assert [(site["line"], site["column"], site["is_done"]) for site in file["sites"]] in (
        [(1, 1, True), (1, 5, True)],
        [],  # as long as the inventory knows numbers only
    )
    assert [move["status"] for move in file["moves"]] == ["transformed", "merged"]
    groups = says(home, "status", "--by", "dir", "--json").json["groups"]
    assert [(group["name"], group["files"], group["done"]) for group in groups] == [(".", 3, 2)]
    watched = says(home, "status", "--watch")
    assert (watched.code, len(watched.out.splitlines())) == (0, 1)
    assert says(home, "status", "latest", "b.tx").code == 2


def test_the_report_comes_in_every_form_at_once(home: Path) -> None:
    page, files = home / "report.html", home / "files.csv"
    done = says(home, "report", "--html", str(page), "--files-csv", str(files), "--json")
    assert (done.code, done.json["schema"]) == (0, "orchestrate.migration-report/1")
    assert "<svg" in page.read_text()
    rows = {row["path"]: row["status"] for row in csv.DictReader(io.StringIO(files.read_text()))}
    assert rows == {"a.txt": "merged", "b.txt": "merged", "c.txt": "rejected"}
    assert says(home, "report", "--md", "-").out.startswith("## New words\n\n**4 sites → 1**")
    assert says(home, "report", "--md", "-", "--json").code == 2
    assert says(home, "report", "--html", str(home / "none" / "x.html")).code == 7
    wrong = says(home, "report", "nothing-like-it")
    assert (wrong.code, "Traceback" in wrong.err) == (2, False)


def test_the_report_as_text_begins_with_the_run_and_how_it_ended(home: Path) -> None:
    ended = says(home, "report", "--json").json
    assert says(home, "report").out.splitlines()[0] == f"{ended['run']}  partial: {ended['reason']}"
