"""Survey a whole repository."""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.migrate.scope.inventory import find_owners_file
from orchestrator.migrate.survey import layout
from orchestrator.migrate.survey.findings import Findings, TestCommand
from orchestrator.migrate.survey.node_tests import find_node_command
from orchestrator.migrate.survey.python_tests import find_python_command
from orchestrator.migrate.survey.repository_files import RepositoryFiles


def survey_repository(project: RepositoryFiles, wanted: str = "") -> Findings:
    """Return the findings for a recipe in the `wanted` language, or in the one that most of it is written in."""
    language = wanted or layout.detect_language(project)
    suffixes = layout.LANGUAGES.get(language, ())
    foreign = layout.build_exclude_globs(project.paths)
    files = []
    for path in project.list_with_suffix(*suffixes):
        if not layout.build_exclude_globs([path]):
            files.append(path)
    environments = layout.list_environments(project)
    command = _use_environment(_find_command(project, language), environments)
    return Findings(
        language=language,
        all_files=tuple(f"*{suffix}" for suffix in filter(project.list_with_suffix, suffixes)) or ("*",),
        sources=layout.build_source_globs(files),
        tests=layout.build_test_globs(files),
        exclude=foreign,
        pairs=layout.build_pair_rules(files),
        command=command,
        codeowners=find_owners_file(project.paths),
        environments=environments,
        manifests=layout.list_manifests(project),
        branch=project.branch or None,
        unknown=tuple(_list_unknown(language, command, environments)),
    )


def _find_command(project: RepositoryFiles, language: str) -> TestCommand | None:
    own, other = (
        (find_python_command, find_node_command)
        if language in {"python", ""}
        else (find_node_command, find_python_command)
    )
    return own(project) or (None if language else other(project))


def _use_environment(command: TestCommand | None, environments: tuple[str, ...]) -> TestCommand | None:
    """The command with the environment's own Python: a tool chain that is bound as well may bring another one."""
    own = next((name for name in environments if name != "node_modules"), "")
    if command is None or not own or not command.run.startswith("python "):
        return command
    return replace(command, run=f"{own}/bin/{command.run}")


def _list_unknown(language: str, command: TestCommand | None, environments: tuple[str, ...]) -> Iterator[str]:
    """Yield what a person has to look at."""
    if not language:
        yield "a language that is known here"
    if command is None:
        yield "the test command: write it in [[verify.check]]"
    if not environments:
        yield "an environment for the tests in the checkout (.venv, venv, node_modules)"
