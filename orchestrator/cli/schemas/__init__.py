"""What verbs print with --json, as JSON Schema: what a script may rely on.

Within a number fields are added, and none goes, is renamed, or changes its kind; so the schemas leave room for more.
"""

from collections.abc import Mapping

from orchestrator.cli.schemas.ci import CI
from orchestrator.cli.schemas.migration import MIGRATION
from orchestrator.cli.schemas.notation import Schema
from orchestrator.cli.schemas.run import RUN
from orchestrator.cli.schemas.stream import STREAM
from orchestrator.cli.schemas.verbs import OTHERS
from orchestrator.cli.schemas.whole import WHOLE_RUN

SCHEMAS: Mapping[str, Schema] = RUN | MIGRATION | WHOLE_RUN | OTHERS | STREAM | CI
"""Every schema by its name, which the objects give as `schema`; lines of `logs` do not."""
