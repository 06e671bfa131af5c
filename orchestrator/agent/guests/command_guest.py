"""A guest that is a program: it gets the task, prints what it likes, and ends by an exit code."""

import codecs

import anyio

from orchestrator.agent.guests.pieces import UNKNOWN_USAGE, GuestEnd, GuestPiece
from orchestrator.agent.guests.used import read_told_usage
from orchestrator.config.engines import EngineSettings
from orchestrator.domain.run.task import Exit
from orchestrator.errors import ProgramGone
from orchestrator.hands.execution.workspace_runner import read_log_ends
from orchestrator.ports.hands import CommandEnding, CommandResult, Workspace
from orchestrator.ports.processes import ProcessPipes

PIECE_S = 15.0
"""Seconds of output that make one turn."""
_PIECE_CHARS = 20_000
_KEPT_CHARS = 1_000_000
_NOT_FOUND, _NOT_RUNNABLE = 127, 126
_ERROR_CHARS = 1_500


class CommandGuest:
    """A program at work; implements `Guest`. `call_id` is that of its command in the workspace."""

    def __init__(
        self, engine: EngineSettings, name: str, workspace: Workspace, call_id: str, pipes: ProcessPipes
    ) -> None:
        self._engine = engine
        self._name = name
        self._workspace = workspace
        self._call_id = call_id
        self._pipes = pipes
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._printed_bytes = 0
        self._kept = ""

    async def hand_over_task(self, prompt: str) -> None:
        """Write the task to the program's standard input, and end that."""
        try:
            await self._pipes.send_bytes(prompt.encode("utf-8", "replace"))
        except ProgramGone:
            return  # its exit code tells
        await self._pipes.close_input()

    async def read_piece(self) -> GuestPiece:
        """Return what it printed in some seconds; at its end, how it ended."""
        text = ""
        with anyio.move_on_after(PIECE_S) as limit:
            while len(text) < _PIECE_CHARS:
                chunk = await self._pipes.receive_bytes()
                self._printed_bytes += len(chunk)
                text += self._decoder.decode(chunk, final=not chunk)
                if self._printed_bytes > self._engine.output_mb * 1024 * 1024:
                    return self._end_piece(text, GuestEnd(Exit.GUEST_FAILED, "it printed more than output_mb allows"))
                if not chunk:
                    break
                if not text.strip():
                    limit.deadline = anyio.current_time() + PIECE_S
            else:
                return self._end_piece(text, None)
        if limit.cancelled_caught:
            return self._end_piece(text, None)
        return self._end_piece(text, await self._wait_for_end(self._kept + text))

    async def ask_to_stop(self) -> None:
        """Do nothing: a program is killed."""

    async def end_commands(self) -> None:
        """Do nothing: it runs everything itself."""

    def _end_piece(self, text: str, end: GuestEnd | None) -> GuestPiece:
        self._kept = (self._kept + text)[-_KEPT_CHARS:]
        return GuestPiece(text, end)

    async def _wait_for_end(self, output: str) -> GuestEnd:
        while (result := await self._workspace.wait_for_result(self._call_id)) is None:
            pass
        usage = read_told_usage(self._engine, output)
        if result.is_success:
            return GuestEnd(Exit.FINISHED, usage=usage)
        if result.ending == CommandEnding.TIMED_OUT:
            return GuestEnd(Exit.OUT_OF_TIME, f"it was not done after {self._engine.timeout_s:g} s", usage)
        if result.ending == CommandEnding.NOT_STARTED:
            usage = UNKNOWN_USAGE.model_copy(update={"calls": 0, "unpriced_calls": 0})
        return GuestEnd(Exit.GUEST_FAILED, describe_failure(self._name, self._engine, result), usage)


def describe_failure(name: str, engine: EngineSettings, result: CommandResult) -> str:
    """Return in words how a guest's program failed, with the end of what it printed as errors."""
    errors = read_log_ends(result.log, _ERROR_CHARS).strip()
    program = engine.command[0]
    if result.exit_code in (_NOT_FOUND, _NOT_RUNNABLE):
        how = f"{program} was not found or could not be run in the sandbox: name its directories in read_only"
    elif result.ending == CommandEnding.EXITED:
        how = f"{program} exited with {result.exit_code}"
    else:
        how = f"{program} ended: {result.ending} {result.detail}".rstrip()
    return f"the engine {name} failed: {how}" + (f". It printed: {errors}" if errors else "")
