"""Schemas of migrations: inventory, dry run, burndown, report, and one file or shard."""

from orchestrator.cli.schemas.notation import (
    TEXT,
    list_of,
    name_schema,
    object_of,
    or_null,
    schema_of_document,
)
from orchestrator.cli.schemas.parts import TEXTS
from orchestrator.migrate.scope.plan_report_model import InventoryDocument
from orchestrator.report.migration.burndown_model import Burndown, GroupsDocument
from orchestrator.report.migration.dry_run_model import DryRunReport
from orchestrator.report.migration.file_model import FileDetails, ShardDetails
from orchestrator.report.migration.full_report_model import MigrationReport
from orchestrator.report.migration.site_check_model import SiteCheckReport

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
    **schema_of_document(InventoryDocument, "migrate plan"),
    **schema_of_document(DryRunReport, "migrate run --dry-run"),
    **schema_of_document(SiteCheckReport, "migrate check"),
    **schema_of_document(Burndown, "part of the status of a migration"),
    **schema_of_document(MigrationReport, "migrate report"),
    **schema_of_document(FileDetails, "migrate status of a file"),
    **schema_of_document(ShardDetails, "migrate status of a shard"),
    **schema_of_document(GroupsDocument, "migrate status --by"),
    **name_schema("orchestrate.init/1", "migrate init", _INIT),
    **name_schema("orchestrate.recipes/1", "migrate init --list", object_of({"recipes": list_of(_TEMPLATE)})),
    **name_schema("orchestrate.recipe-schema/1", "migrate schema --out", object_of({"file": TEXT})),
}
