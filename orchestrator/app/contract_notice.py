"""Tell a person that the project's file now asks for other criteria than a run that has begun."""

from anyio import to_thread

from orchestrator.config.layers import read_project_criteria
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.engine.context import RunContext
from orchestrator.ports.notices import record_notice_once


async def record_contract_change(context: RunContext) -> None:
    """Record once which criteria of the project's file the run does not have: its contract stays as it was frozen."""
    state = context.state
    if state.goal.contract is None or state.ended is not None:
        return
    project_criteria = await to_thread.run_sync(read_project_criteria, context.repository.root)
    run_criteria = {}
    for criterion in state.goal.contract.criteria:
        run_criteria[criterion.id] = criterion
    changed = []
    for criterion_settings in project_criteria:
        if run_criteria.get(criterion_settings.id) != criterion_settings.build_criterion():
            changed.append(criterion_settings.id)
    text = (
        f"the project's file asks for criteria that this run does not have, or not as they stand there now "
        f"({', '.join(changed)}); its contract stays as it was frozen: orchestrate criterion add or drop changes it"
    )
    if changed:
        notice = Noticed(level="warning", code=NoticeCode.CONTRACT_DIFFERS, paths=tuple(changed), text=text)
        await record_notice_once(context.journal, notice)
