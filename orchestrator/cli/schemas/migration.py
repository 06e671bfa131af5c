"""Migrations: what is found, what a dry run comes to, how far they are, and one file or shard of them."""

from orchestrator.cli.schemas.notation import (
    ANY,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    document,
    dumped,
    joined,
    many,
    maybe,
    row,
    some_of,
    words,
)
from orchestrator.cli.schemas.parts import BURNDOWN, DIFFERENCE, FILE_STATUS, GROUP, SHARD_STATUS, TEXTS
from orchestrator.cli.schemas.run import RESULT
from orchestrator.domain.migration import SitePlace

_PLACE = dumped(SitePlace)
_COUNTED = row({"files": WHOLE, "sites": WHOLE})
_STEP = row({"id": TEXT, "kind": TEXT, "when": TEXT})
_INVENTORY = row(
    {
        "migration": TEXT,
        "revision": TEXT,
        "base": TEXT,
        "sites": WHOLE,
        "weight": NUMBER,
        "files": many(
            row({"path": TEXT, "sites": WHOLE, "weight": NUMBER, "owner": TEXT, "places": many(_PLACE)}),
        ),
        "by_site": many(joined(row({"site": TEXT}), _COUNTED)),
        "by_owner": many(joined(row({"owner": TEXT}), _COUNTED)),
        "by_directory": many(joined(row({"directory": TEXT}), _COUNTED)),
        "sample": TEXTS,
        "shards": many(row({"name": TEXT, "owner": TEXT, "files": TEXTS})),
        "waves": many(WHOLE),
        "steps": many(_STEP),
        "checks": many(row({"id": TEXT, "level": TEXT, "run": TEXT})),
        "invariants": many(ANY),
        "notices": TEXTS,
    }
)
_TALLY = dict.fromkeys(("files", "changed", "unchanged", "restored", "refused", "cached"), WHOLE)
_LINES = row({"added": WHOLE, "removed": WHOLE})
_TRIED_FILE = joined(
    row(
        {
            **dict.fromkeys(("path", "shard", "owner", "step", "reason", "signature"), TEXT),
            "status": words("changed", "unchanged", "restored", "skipped", "not-tried", "nothing-to-do"),
            "sites": WHOLE,
            "left": many(_PLACE),
        }
    ),
    _LINES,
)
_LOST = some_of(DIFFERENCE, "new_failures", "missing_tests", "newly_skipped", "fixed", "unsettled", "problems")
_DRY_RUN = joined(
    row(
        {
            "migration": TEXT,
            "title": TEXT,
            "revision": TEXT,
            "base": TEXT,
            "exit": WHOLE,
            "unsafe": FLAG,
            "found": _COUNTED,
            "tried": _COUNTED,
            "changed": WHOLE,
            "remaining": maybe(WHOLE),
            "steps": many(joined(_STEP, row({"not_tried": TEXT, "seconds": NUMBER, **_TALLY}))),
            "shards": many(
                joined(row({"name": TEXT, "owner": TEXT, "changed": WHOLE}), _COUNTED, _LINES),
            ),
            "files": many(_TRIED_FILE),
            "alike": many(row({"signature": TEXT, "files": WHOLE})),
            "gate": maybe(joined(row({"green": FLAG}), _LOST)),
            "notices": TEXTS,
            "diff": maybe(TEXT),
        }
    ),
    _LINES,
)
_RATCHET = row(
    {
        "migration": TEXT,
        "commit": TEXT,
        "since": TEXT,
        "files": WHOLE,
        "found": WHOLE,
        "allowed": WHOLE,
        "holds": FLAG,
        "exit": WHOLE,
        "limits": many(row({"site": TEXT, "pattern": TEXT, "found": WHOLE, "allowed": maybe(WHOLE)})),
        "sites": many(
            joined(
                _PLACE,
                row({"path": TEXT, "text": TEXT, "news": words("", "new", "came back"), "is_over": FLAG}),
            )
        ),
        "skipped": TEXTS,
    }
)
_REPORTED_FILE = row(
    {
        **dict.fromkeys(("path", "owner", "shard", "step", "reason", "signature", "commit"), TEXT),
        "status": FILE_STATUS,
        "attempt": WHOLE,
        "sites": NUMBER,
        "sites_left": NUMBER,
        "flags": TEXTS,
        "seconds": NUMBER,
    }
)
REPORT = joined(
    BURNDOWN,
    some_of(RESULT, "outcome", "reason", "base", "pr_branch", "head", "unsafe", "notices", "flaky", "gate"),
    row(
        {
            "schema": {"const": "orchestrate.migration-report/1"},
            "started_at": TEXT,
            "invariants": many(ANY),
            "files": many(_REPORTED_FILE),
        }
    ),
)
_MOVE = row(
    {
        "step": maybe(TEXT),
        "attempt": WHOLE,
        "status": FILE_STATUS,
        "reason": TEXT,
        "signature": TEXT,
        "seconds": NUMBER,
        "is_cached": FLAG,
    }
)
_FILE = row(
    {
        "run": TEXT,
        "path": TEXT,
        "status": FILE_STATUS,
        "owner": TEXT,
        "shard": maybe(TEXT),
        "commit": maybe(TEXT),
        "sites": many(row({"id": TEXT, "line": WHOLE, "column": WHOLE, "is_done": maybe(FLAG)})),
        "found": NUMBER,
        "remaining": NUMBER,
        "step": maybe(TEXT),
        "attempt": WHOLE,
        "reason": TEXT,
        "signature": TEXT,
        "flags": TEXTS,
        "seconds": NUMBER,
        "moves": many(_MOVE),
    }
)
_SHARD = row(
    {
        "run": TEXT,
        "name": TEXT,
        "status": SHARD_STATUS,
        "owner": TEXT,
        "held": TEXT,
        "commit": maybe(TEXT),
        "files": many(row({"path": TEXT, "status": FILE_STATUS, "reason": TEXT})),
    }
)
_FOUND = row(
    {
        "language": TEXT,
        **dict.fromkeys(
            ("sources", "tests", "exclude", "pairs", "environments", "manifests", "unknown", "notes"), TEXTS
        ),
        "test_command": maybe(row({"run": TEXT, "report": TEXT, "said_by": TEXT})),
        "codeowners": maybe(TEXT),
        "branch": maybe(TEXT),
    }
)
_INIT = row(
    {
        "file": TEXT,
        "from": TEXT,
        "found": _FOUND,
        "tools": row({"elsewhere": TEXTS, "missing": TEXTS}),
        "scope": TEXT,
    }
)
_TEMPLATE = row({"name": TEXT, "summary": TEXT, "language": TEXT, "needs": TEXTS})

MIGRATION = {
    **document("orchestrate.inventory/2", "migrate plan", _INVENTORY),
    **document("orchestrate.dry-run/1", "migrate run --dry-run", _DRY_RUN),
    **document("orchestrate.ratchet/1", "migrate check", _RATCHET),
    **document("orchestrate.burndown/1", "part of the status of a migration", BURNDOWN),
    **document("orchestrate.migration-report/1", "migrate report", REPORT),
    **document("orchestrate.migration-file/1", "migrate status of a file", _FILE),
    **document("orchestrate.migration-shard/1", "migrate status of a shard", _SHARD),
    **document(
        "orchestrate.migration-groups/1",
        "migrate status --by",
        row({"run": TEXT, "by": words("owner", "dir", "rung", "reason", "shard"), "groups": many(GROUP)}),
    ),
    **document("orchestrate.init/1", "migrate init", _INIT),
    **document("orchestrate.recipes/1", "migrate init --list", row({"recipes": many(_TEMPLATE)})),
    **document("orchestrate.recipe-schema/1", "migrate schema --out", row({"file": TEXT})),
}
