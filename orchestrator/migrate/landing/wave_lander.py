"""Land the files of a wave: one commit a shard, in a union that passed the gate; the guilty are sent back."""

from collections.abc import Container, Mapping, Sequence

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.ids import ROOT_TASK, UnitId
from orchestrator.domain.migration.files import FailureKind, FileRecord, FileStatus, Wave
from orchestrator.domain.text.listing import format_count, join_limited
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_person, build_run_approval, list_blast_radius_reasons
from orchestrator.engine.control.policy_paths import FILE_ACTOR, list_merge_questions
from orchestrator.judge.gate.flakiness import UNSETTLED_TESTS_TEXT
from orchestrator.judge.reports.failure_signature import build_failure_signature, extract_failure_excerpt
from orchestrator.judge.selection.import_graph import read_import_graph
from orchestrator.migrate.judging.gate import MigrationGate
from orchestrator.migrate.judging.shard_gate import ShardGate
from orchestrator.migrate.ladder.passes import Pass, build_end_moves, is_already_landed, is_changed, list_files_to_queue
from orchestrator.migrate.ladder.waves import list_wave_files, list_wave_shards
from orchestrator.migrate.landing.file_units import FileUnits
from orchestrator.migrate.sites.finder import count_current_sites
from orchestrator.ports.gate import Gate
from orchestrator.ports.hooks import NO_HOOKS
from orchestrator.ports.ledger import read_last_output
from orchestrator.queue.lander import Lander
from worktrees.object_store.trees import map_tree

_MOST_NAMED = 3


class WaveLander:
    """The landings of one run. A unit of the queue is a file, named by its path."""

    def __init__(self, context: RunContext, gate: MigrationGate) -> None:
        self._context = context
        self._gate = gate
        self._units = FileUnits(context)

    async def land_wave(self, name: str, wave: Wave, group: Pass, *, is_atomic: bool) -> None:
        """Find which of the wave's changed files are green together, and land them.

        What came further than this pass is left to its own one: a process that goes on begins with the first pass
        again, and what people said of that holds for nothing else.

        Args:
            name: the landing's name in events.
            wave: whose files.
            group: the pass that was climbed last.
            is_atomic: land all of them or none.

        Raises:
            PersonNeeded: a person is to be asked first, or the branch is not as it should be.
        """
        waiting = list_files_to_queue(list_wave_files(self._context.state, wave))
        files = await self._test_shards(name, [file for file in waiting if not group.is_behind(file)])
        if self._list_approval_reasons(files):
            files = await self._test_together(name, files, self._gate, is_atomic=is_atomic)
        if files and await self._may_land(name, files):
            await self._test_together(name, files, self._gate, is_atomic=is_atomic, wave=wave)

    async def _test_shards(self, name: str, files: Sequence[FileRecord]) -> Sequence[FileRecord]:
        """Return the files whose shards are green by the checks of level shard; send back the guilty of a red shard."""
        if not files or not any(check.level == "shard" for check in self._context.recipe.verify.check):
            return files
        graph = await read_import_graph(self._context.repository.git, self._context.state.run.base)
        for shard, units in self._units.split_by_shard(_list_units(files)):
            members = [file for file in files if file.path in units]
            await self._test_together(
                f"{name} shard {shard}", members, ShardGate(self._context, self._gate, shard, graph.find_dependents)
            )
        return [file for file in files if is_changed(self._context.state.migration.files[file.path])]

    async def _test_together(
        self, name: str, files: Sequence[FileRecord], gate: Gate, *, is_atomic: bool = False, wave: Wave | None = None
    ) -> list[FileRecord]:
        """Return the files that are green together; send back the guilty. They land if `wave`, theirs, is given."""
        context, units, lands = self._context, _list_units(files), wave is not None
        lander = Lander(context.journal, gate, context.branch, context.hooks if lands else NO_HOOKS)
        targeting = self._units.build_targeting(units, beside_landed=gate is self._gate)
        composer = self._units.build_composer(files)
        found = await lander.land_units(name, units, composer, targeting, atomic=is_atomic, moves=lands)
        green = [file for file in files if file.path in found.landed]
        if wave is not None:
            await self.record_landed_files(wave, green)
        for ejected in found.ejected:
            await self._mark_ejected(ejected)
        return green

    def _list_approval_reasons(self, files: Sequence[FileRecord]) -> list[str]:
        """Return why a pass is too large or too delicate to land unseen, in words; empty where nobody is asked."""
        settings, paths = self._context.config.approval, [file.path for file in files]
        reasons = list_blast_radius_reasons(settings, paths, 0) if settings.mode == "review" else []
        questions = list_merge_questions(self._context.policy, self._context.state, ROOT_TASK, FILE_ACTOR, paths)
        return [*reasons, *questions]

    async def _may_land(self, name: str, files: Sequence[FileRecord]) -> bool:
        """Ask a person before a large or delicate pass lands, if that is configured; a no rejects its files.

        What people are asked about is green: `_test_together` has sent back what is not.
        """
        if not (reasons := self._list_approval_reasons(files)):
            return True
        title = f"land {name}: {format_count(len(files), 'file')}"
        detail = [*reasons, "the gate is green with it"]
        answer = await ask_person(self._context, build_run_approval(self._context, "landing", name, title, detail))
        if answer.decision == "reject":
            reason = f"a person did not let it land: {answer.reason or f'rejected by {answer.by}'}"
            await self._context.journal.append(*build_end_moves(files, FileStatus.REJECTED, reason))
        return answer.decision == "approve"

    async def record_landed_files(self, wave: Wave, moved: Sequence[FileRecord] = ()) -> None:
        """Book as landed whatever stands on the branch: git says what has landed, not memory.

        `moved` are files as they were put on the branch: what a person has said of them since holds for them no more.
        """
        if not (landed := await self._find_landed_files(wave, moved)):
            return
        sites: Mapping[str, int] = {}
        if self._context.recipe.work_scope.site:
            sites = await count_current_sites(self._context, self._context.recipe, landed)
        moves = []
        for file in landed:
            path, left = file.path, sites.get(file.path)
            moves.append(FileMoved(path=path, status=FileStatus.MERGED, rung=file.rung, blob=file.blob, left=left))
        await self._context.journal.append(*moves)

    async def _find_landed_files(self, wave: Wave, moved: Sequence[FileRecord]) -> list[FileRecord]:
        """Return the files of the wave whose migrated content stands on the branch."""
        state, tip = self._context.state, self._context.state.head
        records = {file.path: file for file in state.migration.list_files(list_wave_shards(state, wave))}
        for file in moved:
            if state.migration.files[file.path].status != FileStatus.MERGED:
                records[file.path] = file
        files = list(filter(_may_stand, records.values()))
        if tip is None or not files:
            return []
        standing = await map_tree(self._context.repository.git, tip)
        return [file for file in files if file.blob is not None and standing.get(file.path) == file.blob]

    async def _mark_ejected(self, ejected: UnitEjected) -> None:
        journal, files = self._context.journal, self._context.state.migration.files
        file = files[ejected.unit]
        if file.status == FileStatus.MERGED:
            return  # somebody put on the branch what the ladder made of it, too
        landed = {path for path in ejected.partners if files[path].status == FileStatus.MERGED}
        (move,) = build_end_moves([file], FileStatus.EJECTED, _format_ejection_reason(ejected, landed))
        signature = _build_ejection_signature(ejected, await read_last_output(journal, ejected.receipts))
        await journal.append(move.model_copy(update={"signature": signature, "failure": FailureKind.QUEUE}))


def _list_units(files: Sequence[FileRecord]) -> list[UnitId]:
    return [UnitId(file.path) for file in files]


def _may_stand(file: FileRecord) -> bool:
    """Return True if the file's migrated content may be on the branch, also for a file skipped during landing."""
    is_left_out = file.status == FileStatus.SKIPPED and file.is_overtaken and file.blob not in {None, file.branch_blob}
    return is_changed(file) or is_already_landed(file) or is_left_out


def _format_ejection_reason(ejected: UnitEjected, landed: Container[str]) -> str:
    """Return what the file breaks, and with whom if only together; `landed` are the paths of what has landed."""
    reason, partners = _describe_damage(ejected), []
    for unit in ejected.partners:
        partners.append(f"{unit} (landed before)" if unit in landed else unit)
    if partners:
        reason += f", only together with {join_limited(partners, _MOST_NAMED)}"
    return reason


def _build_ejection_signature(ejected: UnitEjected, output: str) -> str:
    """Return what failed of it, without what varies: of tests what they printed, of anything else its own words.

    Args:
        ejected: of the file.
        output: what the last run printed in which it was red.
    """
    difference, lost = ejected.difference, ejected.difference.lost_tests
    if not lost and not difference.unsettled and difference.problems:
        return build_failure_signature(difference.problems[0].partition(": ")[2] or difference.problems[0])
    return build_failure_signature(extract_failure_excerpt(output, lost or difference.unsettled))


def _describe_damage(ejected: UnitEjected) -> str:
    difference, lost = ejected.difference, ejected.difference.lost_tests
    if ejected.conflict:
        return "somebody changed it on the PR branch meanwhile"
    if difference.is_unsettled:
        return f"{UNSETTLED_TESTS_TEXT}: {', '.join(difference.unsettled[:_MOST_NAMED])}"
    if lost:
        return f"breaks {format_count(len(lost), 'test')}: {join_limited(lost, _MOST_NAMED)}"
    if difference.flaky and not difference.problems:
        return f"makes tests come and go: {join_limited(difference.flaky, _MOST_NAMED)}"
    return "; ".join(difference.problems) or "the gate is red with it"
