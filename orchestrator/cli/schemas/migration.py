"""Schemas of migrations: inventory, dry run, burndown, report, and one file or shard."""

from orchestrator.cli.schemas.notation import (
    ANY,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    list_of,
    merge_objects,
    name_schema,
    object_of,
    one_of,
    or_null,
    schema_of_model,
    select_fields,
)
from orchestrator.cli.schemas.parts import BURNDOWN, DIFFERENCE, FILE_STATUS, GROUP, SHARD_STATUS, TEXTS
from orchestrator.cli.schemas.run import RESULT
from orchestrator.domain.migration.files import SitePlace

_PLACE = schema_of_model(SitePlace)
_COUNTED = object_of({"files": WHOLE, "sites": WHOLE})
_STEP = object_of({"id": TEXT, "kind": TEXT, "when": TEXT})
_INVENTORY = object_of(
    {
        "migration": TEXT,
        "revision": TEXT,
        "base": TEXT,
        "sites": WHOLE,
        "weight": NUMBER,
        "files": list_of(
            object_of({"path": TEXT, "sites": WHOLE, "weight": NUMBER, "owner": TEXT, "places": list_of(_PLACE)}),
        ),
        "by_site": list_of(merge_objects(object_of({"site": TEXT}), _COUNTED)),
        "by_owner": list_of(merge_objects(object_of({"owner": TEXT}), _COUNTED)),
        "by_directory": list_of(merge_objects(object_of({"directory": TEXT}), _COUNTED)),
        "sample": TEXTS,
        "shards": list_of(object_of({"name": TEXT, "owner": TEXT, "files": TEXTS})),
        "waves": list_of(WHOLE),
        "steps": list_of(_STEP),
        "checks": list_of(object_of({"id": TEXT, "level": TEXT, "run": TEXT})),
        "invariants": list_of(ANY),
        "notices": TEXTS,
    }
)
_TALLY = dict.fromkeys(("files", "changed", "unchanged", "restored", "refused", "cached"), WHOLE)
_LINES = object_of({"added": WHOLE, "removed": WHOLE})
_TRIED_FILE = merge_objects(
    object_of(
        {
            **dict.fromkeys(("path", "shard", "owner", "step", "reason", "signature"), TEXT),
            "status": one_of("changed", "unchanged", "restored", "skipped", "not-tried", "nothing-to-do"),
            "sites": WHOLE,
            "left": list_of(_PLACE),
        }
    ),
    _LINES,
)
_LOST = select_fields(DIFFERENCE, "new_failures", "missing_tests", "newly_skipped", "fixed", "unsettled", "problems")
_DRY_RUN = merge_objects(
    object_of(
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
            "remaining": or_null(WHOLE),
            "steps": list_of(merge_objects(_STEP, object_of({"not_tried": TEXT, "seconds": NUMBER, **_TALLY}))),
            "shards": list_of(
                merge_objects(object_of({"name": TEXT, "owner": TEXT, "changed": WHOLE}), _COUNTED, _LINES),
            ),
            "files": list_of(_TRIED_FILE),
            "alike": list_of(object_of({"signature": TEXT, "files": WHOLE})),
            "gate": or_null(merge_objects(object_of({"green": FLAG}), _LOST)),
            "notices": TEXTS,
            "diff": or_null(TEXT),
        }
    ),
    _LINES,
)
_RATCHET = object_of(
    {
        "migration": TEXT,
        "commit": TEXT,
        "since": TEXT,
        "files": WHOLE,
        "found": WHOLE,
        "allowed": WHOLE,
        "holds": FLAG,
        "exit": WHOLE,
        "limits": list_of(object_of({"site": TEXT, "pattern": TEXT, "found": WHOLE, "allowed": or_null(WHOLE)})),
        "sites": list_of(
            merge_objects(
                _PLACE,
                object_of({"path": TEXT, "text": TEXT, "news": one_of("", "new", "came back"), "is_over": FLAG}),
            )
        ),
        "skipped": TEXTS,
    }
)
_REPORTED_FILE = object_of(
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
REPORT = merge_objects(
    BURNDOWN,
    select_fields(RESULT, "outcome", "reason", "base", "pr_branch", "head", "unsafe", "notices", "flaky", "gate"),
    object_of(
        {
            "schema": {"const": "orchestrate.migration-report/1"},
            "started_at": TEXT,
            "invariants": list_of(ANY),
            "files": list_of(_REPORTED_FILE),
        }
    ),
)
_MOVE = object_of(
    {
        "step": or_null(TEXT),
        "attempt": WHOLE,
        "status": FILE_STATUS,
        "reason": TEXT,
        "signature": TEXT,
        "seconds": NUMBER,
        "is_cached": FLAG,
    }
)
_FILE = object_of(
    {
        "run": TEXT,
        "path": TEXT,
        "status": FILE_STATUS,
        "owner": TEXT,
        "shard": or_null(TEXT),
        "commit": or_null(TEXT),
        "sites": list_of(object_of({"id": TEXT, "line": WHOLE, "column": WHOLE, "is_done": or_null(FLAG)})),
        "found": NUMBER,
        "remaining": NUMBER,
        "step": or_null(TEXT),
        "attempt": WHOLE,
        "reason": TEXT,
        "signature": TEXT,
        "flags": TEXTS,
        "seconds": NUMBER,
        "moves": list_of(_MOVE),
    }
)
_SHARD = object_of(
    {
        "run": TEXT,
        "name": TEXT,
        "status": SHARD_STATUS,
        "owner": TEXT,
        "held": TEXT,
        "commit": or_null(TEXT),
        "files": list_of(object_of({"path": TEXT, "status": FILE_STATUS, "reason": TEXT})),
    }
)
_FOUND = object_of(
    {
        "language": TEXT,
        **dict.fromkeys(
            ("sources", "tests", "exclude", "pairs", "environments", "manifests", "unknown", "notes"), TEXTS
        ),
        "test_command": or_null(object_of({"run": TEXT, "report": TEXT, "said_by": TEXT})),
        "codeowners": or_null(TEXT),
        "branch": or_null(TEXT),
    }
)
_INIT = object_of(
    {
        "file": TEXT,
        "from": TEXT,
        "found": _FOUND,
        "tools": object_of({"elsewhere": TEXTS, "missing": TEXTS}),
        "scope": TEXT,
    }
)
_TEMPLATE = object_of({"name": TEXT, "summary": TEXT, "language": TEXT, "needs": TEXTS})

MIGRATION = {
    **name_schema("orchestrate.inventory/2", "migrate plan", _INVENTORY),
    **name_schema("orchestrate.dry-run/1", "migrate run --dry-run", _DRY_RUN),
    **name_schema("orchestrate.ratchet/1", "migrate check", _RATCHET),
    **name_schema("orchestrate.burndown/1", "part of the status of a migration", BURNDOWN),
    **name_schema("orchestrate.migration-report/1", "migrate report", REPORT),
    **name_schema("orchestrate.migration-file/1", "migrate status of a file", _FILE),
    **name_schema("orchestrate.migration-shard/1", "migrate status of a shard", _SHARD),
    **name_schema(
        "orchestrate.migration-groups/1",
        "migrate status --by",
        object_of({"run": TEXT, "by": one_of("owner", "dir", "rung", "reason", "shard"), "groups": list_of(GROUP)}),
    ),
    **name_schema("orchestrate.init/1", "migrate init", _INIT),
    **name_schema("orchestrate.recipes/1", "migrate init --list", object_of({"recipes": list_of(_TEMPLATE)})),
    **name_schema("orchestrate.recipe-schema/1", "migrate schema --out", object_of({"file": TEXT})),
}
