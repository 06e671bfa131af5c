"""JSON Schemas of what verbs print with --json: what a script may rely on.

Schemas of documents that have a model are made from it; the others are written here. Within a number, fields may be
added; none is removed, renamed or given another type. So the schemas allow more fields than they name.
"""

from collections.abc import Mapping

from orchestrator.cli.schemas.ci import CI
from orchestrator.cli.schemas.migration import MIGRATION
from orchestrator.cli.schemas.notation import Schema
from orchestrator.cli.schemas.run import RUN
from orchestrator.cli.schemas.stream import STREAM
from orchestrator.cli.schemas.verbs import OTHERS

SCHEMAS: Mapping[str, Schema] = RUN | MIGRATION | OTHERS | STREAM | CI
"""Every schema by its name, which the objects give as `schema`; lines of `logs` do not."""
