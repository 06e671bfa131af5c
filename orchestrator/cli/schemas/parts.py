"""Schemas that several documents have in common."""

from orchestrator.cli.schemas.notation import TEXT, list_of, or_null, schema_of_model
from orchestrator.domain.judging.check import TestCounts
from orchestrator.report.run.model import PullRequestLink

TEXTS = list_of(TEXT)
COUNTS = or_null(schema_of_model(TestCounts))
PR = schema_of_model(PullRequestLink)
