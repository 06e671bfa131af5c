"""What `migrate plan` says: all of it as data, a summary for a person."""

from orchestrator.domain.event.migration import FoundFile
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import SitePlace
from orchestrator.domain.recipe.model import Recipe
from orchestrator.migrate.scope.plan_report import PlanReport
from orchestrator.migrate.sharding.shards import plan_shards

RECIPE = Recipe.model_validate(
    {
        "schema": 1,
        "migration": {"id": "x", "title": "No more old"},
        "scope": {"include": ["*"], "site": [{"id": "old", "pattern": "old"}, {"id": "odd", "pattern": "odd"}]},
        "sample": {"files": 1, "first": 1, "growth": 2},
        "shard": {"by": ["file"]},
        "step": [
            {"id": "sed", "run": "sed -i s/old/new/ {files}"},
            {"id": "swap", "kind": "rewrite", "pattern": "old", "rewrite": "new", "when": "failed"},
            {"id": "tail", "kind": "llm", "when": "failed"},
            {"id": "hand", "kind": "human", "when": "failed"},
        ],
        "verify": {"check": [{"id": "t", "run": "make test"}]},
        "invariant": [{"kind": "sites-at-most", "site": "old"}, {"kind": "tests-not-lost", "level": "queue"}],
    }
)


def found(path: str, *kinds: str, owner: str = "") -> FoundFile:
    places = tuple(SitePlace(site=kind, line=1) for kind in kinds)
    count = len(places)
    return FoundFile(path=path, blob="b", mode="100644", sites=count, places=places, weight=count, owner=owner)


def inventory(*files: FoundFile) -> PlanReport:
    records = [file.build_record() for file in files if file.sites]
    shards = plan_shards(records, RECIPE.shard, sample=[records[0].path])
    return PlanReport(RECIPE, CommitId("c" * 40), files, shards, ("a notice",))


def test_everything_is_there_as_data() -> None:
    told = (
        inventory(found("a/1", "old", "odd", owner="@x"), found("b/2", "old"), found("b/3", "old"), found("c"))
        .build_document()
        .as_object()
    )
    assert (told["schema"], told["sites"], told["weight"]) == ("orchestrate.inventory/2", 4, 4)
    assert told["files"][0]["places"] == [
        {"site": "old", "line": 1, "column": 1},
        {"site": "odd", "line": 1, "column": 1},
    ]
    assert told["by_site"] == [{"site": "old", "files": 3, "sites": 3}, {"site": "odd", "files": 1, "sites": 1}]
    assert told["by_owner"] == [{"owner": "", "files": 2, "sites": 2}, {"owner": "@x", "files": 1, "sites": 2}]
    assert [row["directory"] for row in told["by_directory"]] == ["b", "a"]
    assert told["sample"] == ["a/1"]
    assert [shard["name"] for shard in told["shards"]] == ["sample", "b/2", "b/3"]
    assert told["waves"] == [1, 1]
    assert told["steps"][1] == {"id": "swap", "kind": "rewrite", "when": "failed"}
    assert told["checks"] == [{"id": "t", "level": "queue", "run": "make test"}]
    assert told["invariants"][1] == {"kind": "tests-not-lost", "level": "queue"}


def test_a_person_sees_a_summary_and_all_if_wanted() -> None:
    many = inventory(*(found(f"dir{n:02}/file", "old") for n in range(30)))
    short, full = [*many.render_lines()], [*many.render_lines(shows_all=True)]
    assert short[0] == f"No more old: 30 files in scope, 30 sites at {'c' * 12}"
    assert {
        "  note: a notice",
        "directories (30):",
        "  and 18 more (--all shows them)",
        "shards (30):",
        "  sample: 1 files",
        "waves of 1, 2, 4, 8, 14 shards after the sample",
        "step sed (command, when sites): sed -i s/old/new/ {files} (per file)",
        "step swap (rewrite, when failed): regex: old becomes new",
        "check t (level queue): make test",
        "invariant sites-at-most (level shard): site = old",
    } < set(short)
    assert len(short) < 70
    assert sum("dir29" in line for line in full) == 3
    assert not [line for line in full if "more" in line and line.startswith("  and")]
