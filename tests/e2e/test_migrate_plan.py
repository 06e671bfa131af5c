"""`migrate plan` as people and scripts call it."""

from pathlib import Path

from tests.running.in_process import orchestrate
from tests.running.projects import refs, repository

RECIPE = """
schema = 1
[migration]
id = "words"
[scope]
include = ["*.txt"]
[[scope.site]]
id = "old"
pattern = "{pattern}"
[[step]]
id = "sed"
run = "sed -i s/old/new/ {{files}}"
[[verify.check]]
id = "t"
run = "true"
"""


def test_a_plan_tells_what_there_is_and_changes_nothing_and_a_pattern_without_a_site_is_exit_5(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {"a.txt": "old\n", "sub/b.txt": "old old\n", "c.txt": "new\n"})
    before = refs(root)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.format(pattern="old"))
    words = ("migrate", "plan", recipe, "--repo", root, "--state", tmp_path / "state")
    told = orchestrate(*words, "--json", cwd=tmp_path)
    assert (told.code, told.json["schema"], told.json["sites"]) == (0, "orchestrate.inventory/2", 3)
    assert [shard["files"] for shard in told.json["shards"]] == [["a.txt", "sub/b.txt"]]
    shown = orchestrate(*words, "--all", cwd=tmp_path)
    assert "      2  sub/b.txt" in shown.out
    recipe.write_text(RECIPE.format(pattern="nowhere"))
    for verb in ("plan", "run"):
        refused = orchestrate("migrate", verb, *words[2:], cwd=tmp_path)
        assert (refused.code, refused.out) == (5, "")
        assert "no site was found in 3 files in scope" in refused.err
        assert "nowhere" in refused.err
    assert refs(root) == before
