"""`orchestrate run export` and `orchestrate run import`."""

from functools import partial
from pathlib import Path

import anyio
import click

from orchestrator.cli.arguments import FILE, common_options
from orchestrator.cli.documents import ExportDocument, ImportDocument
from orchestrator.cli.flags import Flags
from orchestrator.cli.output import print_lines, print_message, print_object
from orchestrator.cli.run_lookup import locate_named_run
from orchestrator.portable.run_import import ImportedRun
from orchestrator.project.options import Options
from orchestrator.report.text.byte_sizes import format_size
from orchestrator.run_control.transfer import (
    ExportedRun,
    export_run_archive,
    import_run_archive,
    list_absent_paths,
    list_foreign_settings,
    list_replaced_settings,
)


@click.command("export")
@click.argument("run")
@click.argument("file", type=FILE, required=False)
@click.option("--ref", "as_ref", is_flag=True, help="Into refs/orchestrate/RUN/journal instead of a file.")
@click.option("--whole", is_flag=True, help="With all history, for a repository that lacks the run's base.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@common_options
def export_command(
    run: str, file: Path | None, as_ref: bool, whole: bool, force: bool, repo: Path, state: str, as_json: bool
) -> None:
    """Write RUN (`latest`, an id or part of one) with its journal and all its git objects to FILE.

    The run may be at work meanwhile. FILE holds everything that was said in the run: keep it as private as the journal.
    It is gzipped unless its name ends in .tar.

    \b
    orchestrate run export latest run.tar.gz
    orchestrate run export 7f3a --ref && git push origin '+refs/orchestrate/*:refs/orchestrate/*'
    """
    if as_ref == (file is not None):
        raise click.UsageError("name a FILE to write, or say --ref")
    place = locate_named_run(run, repo, state)
    options = Options(place.repo, Flags(state=place.state).values)
    export = partial(export_run_archive, options, place.run or run, file, is_whole=whole, may_replace=force)
    exported_run = anyio.run(export)
    if as_json:
        print_object(_build_export_document(exported_run).as_object())
        return
    manifest = exported_run.exported.manifest
    size = format_size(exported_run.exported.size)
    print_lines([f"run {manifest.run}: {manifest.events} events, {size} in {exported_run.place}"])
    if exported_run.untaken_commands:
        print_message(
            f"warning: {exported_run.untaken_commands} commands that no engine has taken yet are not in it "
            f"(see: orchestrate inbox {manifest.run}): give them again where the run goes on"
        )
    if manifest.missing:
        print_message(
            f"warning: {len(manifest.missing)} blobs that the journal names are lost or damaged here, so it lacks them"
        )


def _build_export_document(exported_run: ExportedRun) -> ExportDocument:
    manifest = exported_run.exported.manifest
    return ExportDocument.model_validate(
        {**dict(manifest), "place": exported_run.place, "bytes": exported_run.exported.size}
    )


@click.command("import")
@click.argument("file", type=FILE, required=False)
@click.option("--ref", metavar="RUN", help="From refs/orchestrate/RUN/journal, which you have fetched, not a file.")
@click.option("--trust-settings", is_flag=True, help="Keep its hooks, endpoints and directories instead of yours.")
@common_options
def import_command(
    file: Path | None, ref: str | None, trust_settings: bool, repo: Path, state: str, as_json: bool
) -> None:
    """Take a run in from FILE, which `orchestrate run export` wrote, so that `resume` goes on with it here.

    Everything in FILE is verified before anything changes. A run that has gone on here is never replaced, and the PR
    branch only moves forward. A resume works with the settings that the run began with, but for hooks, notifications,
    pushes, what the sandbox shows of this machine and where model calls go: those are yours, unless you trust the file.

    \b
    orchestrate run import run.tar.gz --repo ~/src/project
    orchestrate run import --ref 20261120-101705-7f3a && orchestrate resume 7f3a
    """
    if (file is None) == (ref is None):
        raise click.UsageError("name the FILE to take in, or say --ref RUN")
    imported = anyio.run(
        partial(import_run_archive, Options(repo, Flags(state=state).values), file, ref, trust_settings=trust_settings)
    )
    if as_json:
        print_object(_build_import_document(imported, trust_settings).as_object())
        return
    print_lines(_render_import(imported))
    if not imported.manifest.is_ended:
        _print_foreign_settings(imported, trust_settings)
    for setting in list_absent_paths(imported.settings):
        print_message(
            f"warning: not on this machine: {setting}; give another with `orchestrate resume --set` or --read-only"
        )


def _build_import_document(imported: ImportedRun, trust_settings: bool) -> ImportDocument:
    found = {
        "how": imported.effect,
        "pr_branch": imported.manifest.branch,
        "refs": imported.moved_refs,
        "journal": str(imported.directory.journal),
        "settings": list_foreign_settings(imported.settings, trust_settings=trust_settings),
        "absent": list_absent_paths(imported.settings),
        "replaced": _list_replaced(imported, trust_settings),
    }
    return ImportDocument.model_validate({**dict(imported.manifest), **found})


def _list_replaced(imported: ImportedRun, trust_settings: bool) -> tuple[str, ...]:
    return () if trust_settings else tuple(list_replaced_settings(imported.settings))


def _print_foreign_settings(imported: ImportedRun, trust_settings: bool) -> None:
    foreign = list_foreign_settings(imported.settings, trust_settings=trust_settings)
    if foreign:
        print_message("it began with settings that are not yours; a resume works with them unless --set gives others:")
    for setting in foreign:
        print_message(f"  {setting}")
    replaced = _list_replaced(imported, trust_settings)
    if replaced:
        print_message(
            "these of its settings do not count here, because only you may say such on this machine (--trust-settings):"
        )
    for setting in replaced:
        print_message(f"  {setting}")


def _render_import(imported: ImportedRun) -> list[str]:
    manifest = imported.manifest
    effects = {"new": "is here now", "continued": "is now as far as the archive", "unchanged": "was here already"}
    lines = [
        f"run {manifest.run} {effects[imported.effect]}: {manifest.events} events, {len(imported.moved_refs)} refs set"
    ]
    if manifest.head:
        lines.append(f"branch {manifest.branch} at {manifest.head[:12]}")
    if not manifest.is_ended:
        lines.append(f"go on with it: orchestrate resume {manifest.run}")
    return lines
