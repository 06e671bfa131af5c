"""The warning that a gate tells only its exit code, before it is asked which of many files make it red."""

from math import ceil, log2

from orchestrator.domain.event.run import Noticed
from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.recipe.verify import VerifyCheck
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.engine.context import RunContext
from orchestrator.judge.reports.reporter_options import suggest_reporting_line
from orchestrator.migrate.survey.recipe_draft import format_toml_text
from orchestrator.ports.ledger import record_notice_once

_FEW_FILES = 4
"""Among so few files a search is short, whatever the gate tells."""
_MORE_RUNS = 2
"""What a search takes beside the halving: the guilty file alone, and the rest together."""


async def warn_of_exit_code(context: RunContext, check: VerifyCheck, receipt: Receipt) -> None:
    """Write a notice, once, if a search by this check would be long, with the lines that would make it short."""
    files = len(context.state.migration.files)
    if receipt.tests is not None or files <= _FEW_FILES:
        return
    runs = ceil(log2(files)) + _MORE_RUNS
    each = f"{runs} runs of {format_short_duration(receipt.seconds)}"
    text = (
        f"the check {check.id} tells only its exit code: if it turns red, the search among {files} files has nothing "
        f"to go by and halves them, about {each} for each guilty file. "
    )
    text += _describe_remedy(check.run, await context.journal.read_text(receipt.output))
    notice = Noticed(level="warning", text=text, code=NoticeCode.EXIT_CODE_GATE, subject=check.id)
    await record_notice_once(context.journal, notice)


def _describe_remedy(run: str, output: str) -> str:
    if (found := suggest_reporting_line(run, output)) is None:
        return (
            "A report of each test makes it short: have the command write JUnit XML to {report} and say "
            'report = "junit", or print what another value of report reads (docs/judging.md)'
        )
    lines = [f"report = {format_toml_text(found.report.value)}"]
    if found.run != run:
        lines.insert(0, f"run = {format_toml_text(found.run)}")
    return f"It may tell of each test: write {', '.join(lines)} under [[verify.check]]"
