"""Schemas that several documents have in common."""

from orchestrator.cli.schemas.notation import (
    ANY,
    NUMBER,
    TEXT,
    WHOLE,
    list_of,
    merge_objects,
    object_of,
    one_of,
    one_of_enum,
    or_null,
    schema_of_model,
)
from orchestrator.domain.judging.check import Difference, TestCounts
from orchestrator.domain.migration.files import FileStatus, ShardStatus, Tick
from orchestrator.report.cost.model import Amount
from orchestrator.report.run.model import PullRequestLink

TEXTS = list_of(TEXT)
AMOUNT = schema_of_model(Amount)
COUNTS = or_null(schema_of_model(TestCounts))
DIFFERENCE = schema_of_model(Difference)
PR = schema_of_model(PullRequestLink)
GROUP = object_of(
    {
        "name": TEXT,
        "files": WHOLE,
        "done": WHOLE,
        "share": NUMBER,
        "rejected": WHOLE,
        "skipped": WHOLE,
        "sites": NUMBER,
        "sites_left": NUMBER,
        "prs": WHOLE,
        "p50_s": or_null(NUMBER),
        "usd": NUMBER,
        "top_reason": TEXT,
    }
)
SIGNATURE = object_of({"signature": TEXT, "files": WHOLE, "sites": NUMBER, "steps": TEXTS, "examples": TEXTS})
RUNG = object_of(
    {
        "step": TEXT,
        "kind": TEXT,
        "tried": WHOLE,
        "landed": WHOLE,
        "first_try": WHOLE,
        "later_try": WHOLE,
        "seconds": NUMBER,
    }
)
NOW = object_of(
    {
        "found": NUMBER,
        "remaining": NUMBER,
        "target": NUMBER,
        "open": NUMBER,
        "sites": object_of({}, **{status.value: NUMBER for status in FileStatus}),
        "files": object_of({}, **{status.value: WHOLE for status in FileStatus}),
        "in_scope": WHOLE,
    }
)
BURNDOWN = object_of(
    {
        "schema": {"const": "orchestrate.burndown/1"},
        "run": TEXT,
        "title": TEXT,
        "revision": WHOLE,
        "revisions": list_of(object_of({"revision": WHOLE, "by": TEXT, "files": WHOLE})),
        "unit": one_of("sites", "files"),
        "now": NOW,
        "series": list_of(schema_of_model(Tick)),
        "ideal": or_null(list_of(object_of({"at": NUMBER, "sites": NUMBER}))),
        "eta": or_null(object_of({"seconds": NUMBER, "low_s": NUMBER, "high_s": NUMBER, "sites_per_hour": NUMBER})),
        "owners": list_of(GROUP),
        "directories": list_of(GROUP),
        "signatures": list_of(SIGNATURE),
        "rungs": list_of(RUNG),
        "flags": list_of(object_of({"flag": TEXT, "files": WHOLE, "examples": TEXTS})),
        "shards": object_of({}, **{status.value: WHOLE for status in ShardStatus}),
        "spent": merge_objects(AMOUNT, object_of({"wall_s": NUMBER, "test_runs": WHOLE})),
        "waiting": list_of(object_of({"item": TEXT, "matter": TEXT, "title": TEXT})),
        "prs": list_of(object_of({"group": TEXT, "ref": TEXT, "url": TEXT})),
        "next": ANY,
    }
)
FILE_STATUS = one_of_enum(FileStatus)
SHARD_STATUS = one_of_enum(ShardStatus)
