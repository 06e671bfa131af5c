"""What several objects have in common."""

from orchestrator.cli.schemas.notation import (
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    list_of,
    merge_objects,
    object_of,
    or_null,
    schema_of_model,
    schema_of_read_model,
    table_of,
)
from orchestrator.domain.judging.check import Difference, Receipt, TestCounts
from orchestrator.domain.run.contract import Criterion
from orchestrator.report.migration.burndown_model import Burndown

TEXTS = list_of(TEXT)
SHORT_AMOUNT = object_of({"usd": or_null(NUMBER), "usd_known": NUMBER, "tokens": WHOLE, "calls": WHOLE})
AMOUNT = merge_objects(SHORT_AMOUNT, object_of({"unpriced_calls": WHOLE}))
BAR = object_of(
    {
        "spent": SHORT_AMOUNT,
        "at_risk": SHORT_AMOUNT,
        "reserved": SHORT_AMOUNT,
        "wall_s": NUMBER,
        "limit": object_of({}, usd=NUMBER, tokens=WHOLE, calls=WHOLE, wall_s=NUMBER),
    }
)
BUDGET = merge_objects(BAR, object_of({"held_back": NUMBER, "roles": table_of(BAR), "models": table_of(BAR)}))
FLAKY = object_of({"test": TEXT, "seen": WHOLE})
COUNTS = or_null(schema_of_model(TestCounts))
CRITERION = merge_objects(
    schema_of_model(Criterion),
    object_of(
        {
            "met": or_null(FLAG),
            "evidence": TEXT,
            "receipt": TEXT,
            "exit_on_base": or_null(WHOLE),
            "exit": or_null(WHOLE),
        }
    ),
)
DIFFERENCE = schema_of_model(Difference)
RECEIPT = merge_objects(
    schema_of_model(Receipt), object_of({"purpose": TEXT, "difference": or_null(DIFFERENCE), "again": or_null(TEXT)})
)
GATE = object_of(
    {
        "command": TEXT,
        "baseline": COUNTS,
        "head": COUNTS,
        "new_failures": TEXTS,
        "missing_tests": TEXTS,
        "rejected_union": or_null(object_of({"units": WHOLE, "new_failures": WHOLE, "missing_tests": WHOLE})),
    }
)
PR = object_of({"forge": TEXT, "ref": TEXT, "url": TEXT})
BURNDOWN = schema_of_read_model(Burndown)
