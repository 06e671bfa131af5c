"""Check what the repository and its base commit ask of a run."""

from collections.abc import Awaitable, Sequence

from orchestrator.doctor.finding import DoctorFinding
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.base_requirements import require_all_objects, require_free_name
from orchestrator.errors import OrchestrateError
from orchestrator.forge.target_branch import require_target_branch
from orchestrator.project.options import ProjectContext
from orchestrator.project_rules.repository_rules import RepositoryRules, survey_rules
from worktrees.object_store.completeness import has_lfs_files, list_submodules
from worktrees.repositories.git_directory import list_alternates
from worktrees.safety.path_rules import escape_path

_SHOWN = 5


async def check_repository(project: ProjectContext) -> Sequence[DoctorFinding]:
    """Return a finding for all that a run would refuse, or that its workspaces lack."""
    repository, config = project.repository, project.config
    base = repository.read_head_commit()
    findings = [
        *await _check_requirement("base", require_all_objects(repository, base)),
        *await _check_requirement("pr prefix", require_free_name(repository, f"{config.pr.prefix}goal")),
    ]
    if config.pr.target:
        wrong = await _check_requirement("target", require_target_branch(repository, config))
        findings += wrong or [DoctorFinding("target", True, config.pr.target)]
    if repository.is_borrowing:
        findings.append(_describe_lenders(project))
    if submodules := await list_submodules(repository.git, base):
        text = (
            f"{join_limited(map(escape_path, submodules), _SHOWN)}: an empty directory in workspaces; what the gate "
            "needs of it goes into the repository, or into deps under [env]"
        )
        findings.append(DoctorFinding("submodules", False, text, is_warning=True))
    if await has_lfs_files(repository.git, base):
        text = "files are only pointers in workspaces: leave tests that read their content out of the gate"
        findings.append(DoctorFinding("git lfs", False, text, is_warning=True))
    findings += await _check_rules(project)
    return findings


async def _check_rules(project: ProjectContext) -> Sequence[DoctorFinding]:
    """Return a finding for the project's rules if the base has some, and for those that are cut or cannot be read."""
    repository, settings = project.repository, project.config.rules
    rules = RepositoryRules(repository.git, repository.read_head_commit(), settings.files)
    survey = await survey_rules(rules, settings.max_chars)
    if not survey.directories:
        return []
    problems = list(survey.problems[:_SHOWN])
    if survey.cut_files:
        names = join_limited(map(escape_path, survey.cut_files), _SHOWN)
        text = f"{names} do not fit wholly into a brief: shorten them, or raise max_chars under [rules]"
        problems.append(text)
    places = join_limited((escape_path(name) or "the top directory" for name in survey.directories), _SHOWN)
    text = f"found in {places}"
    return [DoctorFinding("project rules", not problems, "; ".join(problems) or text, is_warning=True)]


def _describe_lenders(project: ProjectContext) -> DoctorFinding:
    objects = project.repository.common_dir / "objects"
    lenders = list(list_alternates(objects)) or [objects.resolve()]
    shown = escape_path(join_limited(lenders, _SHOWN))
    text = f"some lie in {shown}, which no command sees: what the base needs of them is copied"
    return DoctorFinding("borrowed objects", True, text)


async def _check_requirement(name: str, requirement: Awaitable[None]) -> Sequence[DoctorFinding]:
    """Return a finding if the requirement is not met."""
    try:
        await requirement
    except OrchestrateError as problem:
        return [DoctorFinding(name, False, str(problem))]
    return []
