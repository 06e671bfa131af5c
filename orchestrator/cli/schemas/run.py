"""Schemas of runs: result, status, cost, judging, one task or file, and replays."""

from orchestrator.cli.schemas.notation import (
    schema_of_document,
    schema_of_model,
)
from orchestrator.replay.comparison.report_model import ReplayDocument
from orchestrator.report.cost.model import CostReport
from orchestrator.report.documents.run_report_model import RunReport
from orchestrator.report.judging.model import JudgingReport
from orchestrator.report.run.model import RunFailure, RunResult, RunStatus, StartedRun
from orchestrator.report.task.model import FileEvidence, TaskDetails

RESULT = schema_of_model(RunResult)

RUN = {
    **schema_of_document(RunResult, "run, resume, demo, migrate run, migrate resume"),
    **schema_of_document(RunFailure, "any of these, and plans and dry runs, that could not be begun"),
    **schema_of_document(StartedRun, "run, resume, migrate run with --detach"),
    **schema_of_document(RunStatus, "status, migrate status"),
    **schema_of_document(CostReport, "cost"),
    **schema_of_document(TaskDetails, "show of a task"),
    **schema_of_document(FileEvidence, "show of a file of a migration"),
    **schema_of_document(JudgingReport, "report"),
    **schema_of_document(RunReport, "report --data"),
    **schema_of_document(ReplayDocument, "replay"),
}
