"""Check the policy as a run would: both files can be read, and every rule in them does something."""

from collections.abc import Sequence

from anyio import to_thread

from orchestrator.agent.tools.known_tools import KNOWN_TOOLS, PATH_TOOLS
from orchestrator.config.policy_file import PROJECT_POLICY_FILE
from orchestrator.doctor.finding import DoctorFinding
from orchestrator.domain.ids import CommitId
from orchestrator.domain.policy.remarks import PolicyNames, find_policy_remarks
from orchestrator.errors import UsageProblem
from orchestrator.project.options import ProjectContext
from orchestrator.project.policy_files import read_policy_files, read_project_policy, require_usable_policy

_NAME = "policy"


async def check_policy(project: ProjectContext) -> Sequence[DoctorFinding]:
    """Return what is wrong with the policy, else which files it is of; nothing where there is no file."""
    config, repository = project.config, project.repository
    head = CommitId(repository.read_head_commit())
    try:
        await require_usable_policy(config, repository.git, head)
        rule_sets = await to_thread.run_sync(read_policy_files, config, repository.root)
    except UsageProblem as problem:
        return [DoctorFinding(_NAME, False, str(problem))]
    found = []
    for remark in find_policy_remarks(rule_sets, _list_names(project)):
        found.append(DoctorFinding(_NAME, False, f"{remark.place}: {remark.text}", is_warning=True))
    committed = await read_project_policy(repository.git, head)
    if not await to_thread.run_sync(_is_as_committed, project, committed):
        text = f"{PROJECT_POLICY_FILE} is not as it is committed: commit it, a run has it as it stands at its base"
        found.append(DoctorFinding(_NAME, False, text, is_warning=True))
    if rule_sets and not found:
        files = ", ".join(f"{one.file} ({len(one.rules.rule)} rules)" for one in rule_sets)
        return [DoctorFinding(_NAME, True, files)]
    return found


def _list_names(project: ProjectContext) -> PolicyNames:
    variants = frozenset(project.config.roles.worker.variants)
    return PolicyNames(tools=KNOWN_TOOLS, path_tools=PATH_TOOLS, variants=variants)


def _is_as_committed(project: ProjectContext, committed: str) -> bool:
    file = project.repository.root / PROJECT_POLICY_FILE
    current = file.read_text(encoding="utf-8") if file.is_file() else ""
    return current == committed
