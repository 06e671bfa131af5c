"""What several objects have in common."""

from orchestrator.cli.schemas.notation import (
    ANY,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    dumped,
    joined,
    many,
    maybe,
    row,
    table,
    word_of,
    words,
)
from orchestrator.domain.check import Difference, Receipt, TestCounts
from orchestrator.domain.contract import Criterion
from orchestrator.domain.migration import FileStatus, ShardStatus, Tick

TEXTS = many(TEXT)
SHORT_AMOUNT = row({"usd": maybe(NUMBER), "usd_known": NUMBER, "tokens": WHOLE, "calls": WHOLE})
AMOUNT = joined(SHORT_AMOUNT, row({"unpriced_calls": WHOLE}))
BAR = row(
    {
        "spent": SHORT_AMOUNT,
        "at_risk": SHORT_AMOUNT,
        "reserved": SHORT_AMOUNT,
        "wall_s": NUMBER,
        "limit": row({}, usd=NUMBER, tokens=WHOLE, calls=WHOLE, wall_s=NUMBER),
    }
)
BUDGET = joined(BAR, row({"held_back": NUMBER, "roles": table(BAR), "models": table(BAR)}))
FLAKY = row({"test": TEXT, "seen": WHOLE})
COUNTS = maybe(dumped(TestCounts))
CRITERION = joined(
    dumped(Criterion),
    row(
        {
            "met": maybe(FLAG),
            "evidence": TEXT,
            "receipt": TEXT,
            "exit_on_base": maybe(WHOLE),
            "exit": maybe(WHOLE),
        }
    ),
)
DIFFERENCE = dumped(Difference)
RECEIPT = joined(dumped(Receipt), row({"purpose": TEXT, "difference": maybe(DIFFERENCE), "again": maybe(TEXT)}))
GATE = row(
    {
        "command": TEXT,
        "baseline": COUNTS,
        "head": COUNTS,
        "new_failures": TEXTS,
        "missing_tests": TEXTS,
        "rejected_union": maybe(row({"units": WHOLE, "new_failures": WHOLE, "missing_tests": WHOLE})),
    }
)
PR = row({"forge": TEXT, "ref": TEXT, "url": TEXT})
GROUP = row(
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
        "p50_s": maybe(NUMBER),
        "usd": NUMBER,
        "top_reason": TEXT,
    }
)
SIGNATURE = row({"signature": TEXT, "files": WHOLE, "sites": NUMBER, "steps": TEXTS, "examples": TEXTS})
RUNG = row(
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
NOW = row(
    {
        "found": NUMBER,
        "remaining": NUMBER,
        "target": NUMBER,
        "open": NUMBER,
        "sites": row({}, **{status.value: NUMBER for status in FileStatus}),
        "files": row({}, **{status.value: WHOLE for status in FileStatus}),
        "in_scope": WHOLE,
    }
)
BURNDOWN = row(
    {
        "schema": {"const": "orchestrate.burndown/1"},
        "run": TEXT,
        "title": TEXT,
        "revision": WHOLE,
        "revisions": many(row({"revision": WHOLE, "by": TEXT, "files": WHOLE})),
        "unit": words("sites", "files"),
        "now": NOW,
        "series": many(dumped(Tick)),
        "ideal": maybe(many(row({"at": NUMBER, "sites": NUMBER}))),
        "eta": maybe(row({"seconds": NUMBER, "low_s": NUMBER, "high_s": NUMBER, "sites_per_hour": NUMBER})),
        "owners": many(GROUP),
        "directories": many(GROUP),
        "signatures": many(SIGNATURE),
        "rungs": many(RUNG),
        "flags": many(row({"flag": TEXT, "files": WHOLE, "examples": TEXTS})),
        "shards": row({}, **{status.value: WHOLE for status in ShardStatus}),
        "spent": joined(AMOUNT, row({"wall_s": NUMBER, "test_runs": WHOLE})),
        "waiting": many(row({"item": TEXT, "matter": TEXT, "title": TEXT})),
        "prs": many(row({"group": TEXT, "ref": TEXT, "url": TEXT})),
        "next": ANY,
    }
)
FILE_STATUS = word_of(FileStatus)
SHARD_STATUS = word_of(ShardStatus)
