"""Schemas that several documents have in common."""

from orchestrator.cli.schemas.notation import TEXT, list_of, schema_of_model
from orchestrator.report.run.model import PullRequestLink

TEXTS = list_of(TEXT)
PR = schema_of_model(PullRequestLink)
