"""The module `tools` of a program: reading, listing, searching, writing, editing and running, inside the sandbox.

It runs under Python's standard library alone, as the program's user, within the command's walls. Paths, edits and globs
are judged by the code that the tools of the same names use outside. That keeps a program from mistakes; what holds a
hostile one is the sandbox alone, as with any command.
"""

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from shlex import join
from types import ModuleType
from typing import NamedTuple

from orchestrator.agent.edits.editor import apply_edit
from orchestrator.agent.edits.refusals import EditRefusal
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import ToolRefused
from orchestrator.hands.files import workspace_files
from worktrees.checkouts import file_search
from worktrees.errors import GitError

MAX_RECORDED = 10_000
"""So many calls of a program are recorded; what it calls after that is not."""
_MAX_HITS = 100_000
_LOSSY = "\ufffd"
_MAX_READ_BYTES = 1024 * 1024
"""The most that the tool `read` takes of a file."""
_MAX_REFUSAL_CHARS = 2_000
_PATTERN_CHARACTER = compile_lazily(r"[*?\[\\]")
"""Characters with a meaning of their own in a glob, and none in a path."""


class ProgramMatch(NamedTuple):
    """A line that a search found, counted from 1."""

    path: str
    line: int
    text: str


class ProgramResult(NamedTuple):
    """The end of a command: its exit code, None if it took too long, and what it printed."""

    exit_code: int | None
    output: str


class ProgramTools:
    """The tools of one program in the checkout `root`; `record` is the file that takes a line for each call."""

    def __init__(self, root: Path, record: Path | None = None) -> None:
        self._root = root
        self._record = record
        self._recorded = 0

    def build_module(self) -> ModuleType:
        """Return the module that a program imports as `tools`."""
        module = ModuleType("tools", "The tools of this session. They raise Refused for what they will not do.")
        vars(module).update(
            read=self.read_text,
            list_files=self.list_files,
            search=self.search_lines,
            write=self.write_text,
            edit=self.edit_text,
            run=self.run_line,
            Match=ProgramMatch,
            Result=ProgramResult,
            Refused=ToolRefused,
        )
        return module

    def read_text(self, path: str, first: int | None = None, last: int | None = None) -> str:
        """Return the text of a file, or of its lines `first` to `last`, counted from 1, both included."""
        self._record_call("read", path)
        text = self._read_content(path).decode("utf-8", "replace")
        if first is None and last is None:
            return text
        begin = 1 if first is None else first
        if begin < 1 or (last is not None and last < begin):
            raise ToolRefused(f"{path} has no lines {begin} to {last}: lines are counted from 1")
        return _choose_lines(text, begin, last)

    def list_files(self, path: str = ".", glob: str | None = None) -> list[str]:
        """Return the files below a path that fit a glob, sorted; without those that git ignores."""
        self._record_call("list_files", path)
        words = ("ls-files", "-z", *file_search.LIST_OPTIONS, "--", *_build_pathspecs(path, glob))
        return list(file_search.parse_listing(self._ask_git(words, (0,)).decode("utf-8", "surrogateescape")))

    def search_lines(self, pattern: str, path: str = ".", glob: str | None = None) -> list[ProgramMatch]:
        """Return the lines below a path that match a POSIX extended regular expression."""
        self._record_call("search", path)
        options = file_search.build_search_options(pattern, _MAX_HITS)
        found = self._ask_git(("grep", *options, "--", *_build_pathspecs(path, glob)), (0, 1))
        matches = []
        for name, number, text in file_search.parse_hits(found, _MAX_HITS):
            matches.append(ProgramMatch(name, int(number), text))
        return matches

    def write_text(self, path: str, content: str) -> None:
        """Create a file, or replace its whole content."""
        self._record_call("write", path)
        try:
            encoded = content.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ToolRefused(f"{path} was not written: the text holds half of a surrogate pair") from error
        if _LOSSY in content and self._has_other_bytes(path):
            raise ToolRefused(
                f"{path} was not written: it holds bytes that are not UTF-8, which `read` shows as {_LOSSY}. "
                "Change its lines with `edit`, or the file with a command."
            )
        workspace_files.write_file(self._root, path, encoded)

    def edit_text(self, path: str, old: str, new: str, replace_all: bool = False) -> str:
        """Replace a text that occurs once, or everywhere; return which lines changed."""
        self._record_call("edit", path)
        edited = apply_edit(self._read_content(path), old, new, replace_all)
        if isinstance(edited, EditRefusal):
            raise ToolRefused(f"{path} was not changed. {edited.text}")
        workspace_files.write_file(self._root, path, edited.content)
        return f"{path}: {edited.summary}"

    def run_line(self, command: str, timeout_s: float | None = None) -> ProgramResult:
        """Run a command line of bash at the top of the repository, in the sandbox of the program itself."""
        self._record_call("run", "")
        words = ["bash", "-c", command]
        with subprocess.Popen(
            words,
            cwd=self._root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                printed, _ = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                printed, _ = process.communicate()
                return ProgramResult(None, printed.decode("utf-8", "replace"))
        return ProgramResult(process.returncode, printed.decode("utf-8", "replace"))

    def _read_content(self, path: str) -> bytes:
        return workspace_files.read_file(self._root, path, _MAX_READ_BYTES)

    def _has_other_bytes(self, path: str) -> bool:
        """Return True if a file is there that is not UTF-8."""
        try:
            self._read_content(path).decode("utf-8")
        except UnicodeDecodeError:
            return True
        except ToolRefused:
            return False
        return False

    def _ask_git(self, words: Sequence[str], ok: tuple[int, ...]) -> bytes:
        """Return what git prints; inside, where it sees only the workspace's shadow of the repository."""
        environment = {**os.environ, **file_search.GLOB_ENVIRONMENT}
        line = f"git --no-optional-locks {join(words)}"
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self._root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode not in ok:
            raise ToolRefused(f"git refused: {done.stderr.decode('utf-8', 'replace').strip()[:_MAX_REFUSAL_CHARS]}")
        return done.stdout

    def _record_call(self, tool: str, path: str) -> None:
        if self._record is None or self._recorded >= MAX_RECORDED:
            return
        self._recorded += 1
        with self._record.open("a", encoding="ascii") as file:
            file.write(json.dumps([tool, str(path)]) + "\n")


def _choose_lines(text: str, first: int, last: int | None) -> str:
    """Return the lines `first` to `last` of a text, as the tools count them: only a line feed ends one."""
    lines = text.split("\n")
    chosen = lines[first - 1 : last]
    ended = last is not None and last < len(lines) and bool(chosen)
    return "\n".join(chosen) + ("\n" if ended else "")


def _build_pathspecs(path: str, glob: str | None) -> tuple[str, ...]:
    """Return the arguments for what lies below a path and fits a glob; one without a slash fits names at any depth."""
    below = ""
    if path not in (".", "./", ""):
        below = _PATTERN_CHARACTER.sub(r"\\\g<0>", workspace_files.normalize_path(path).as_posix())
    if not below:
        wanted = glob or "**"
    elif glob is None:
        wanted = f"./{below}"
    else:
        wanted = f"{below}/{glob}" if "/" in glob else f"{below}/**/{glob}"
    try:
        return file_search.build_pathspecs(wanted)
    except GitError as error:
        raise ToolRefused(f"{error}.") from error
