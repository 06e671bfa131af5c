"""docs/first-migration.md shows what comes out when its commands are run as they stand there."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "first-migration.md"
LEFT_OUT = "…"
CHANGING = (
    (r"\d{8}-\d{6}-[0-9a-f]{4}", "RUN"),
    (r"\b[0-9a-f]{12,14}\b", "COMMIT"),
    (r"\b\d\d:\d\d:\d\d\b", "TIME"),
    (r"\d+(\.\d+)? s\b", "SECONDS"),
    (r"[▁-█]+", "SERIES"),
)
"""What is another one in each run."""


@dataclass
class Shown:
    """A command with the lines that the page shows of its output."""

    command: str
    lines: list[str]


def transcript() -> Iterator[Shown]:
    """The commands of the page's indented blocks that begin with a prompt."""
    shown: Shown | None = None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("    $ "):
            if shown:
                yield shown
            shown = Shown(line.removeprefix("    $ "), [])
        elif line.startswith("    ") and shown:
            shown.lines.append(line.removeprefix("    "))
    if shown:
        yield shown


def steadied(text: str) -> str:
    for pattern, name in CHANGING:
        text = re.sub(pattern, name, text)
    return text.rstrip()


def missing(shown: list[str], printed: list[str]) -> str:
    """The first line that does not come, or does not come at its place; empty if all do.

    A line left out stands for any number of lines; so does, at the end of a line, what is left out of it.
    """
    at, may_skip = 0, False
    for line in map(steadied, shown):
        if line == LEFT_OUT:
            may_skip = True
            continue
        found = next((n for n in range(at, len(printed)) if fits(printed[n], line)), None)
        if found is None or (found > at and not may_skip):
            return line
        at, may_skip = found + 1, False
    return "" if may_skip or at == len(printed) else f"nothing more, but: {printed[at]}"


def fits(printed: str, line: str) -> bool:
    return printed == line or (line.endswith(LEFT_OUT) and printed.startswith(line.removesuffix(LEFT_OUT)))


def test_a_line_that_does_not_come_is_found() -> None:
    assert missing(["a", LEFT_OUT, "d…"], ["a", "b", "c", "def"]) == ""
    assert missing(["a", "c"], ["a", "b", "c"]) == "c"
    assert missing(["a", LEFT_OUT, "x"], ["a", "b"]) == "x"
    assert missing(["a"], ["a", "b"]) == "nothing more, but: b"


def test_the_page_shows_commands() -> None:
    commands = [one.command for one in transcript()]
    for verb in ("plan", "run", "status", "report", "check", "rollback", "resume"):
        assert any(command.startswith(f"orchestrate migrate {verb}") for command in commands), verb


@pytest.mark.slow
@pytest.mark.extended
@pytest.mark.sandbox
@pytest.mark.registry
@pytest.mark.timeout(1800)
def test_the_migration_of_the_page_comes_out_as_shown(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "examples", clone / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (clone / ".venv").symlink_to(ROOT / ".venv")
    wanted = list(transcript())
    outputs = played([one.command for one in wanted], clone, surroundings(tmp_path))
    if "was not found" in outputs[1] or "failed: ERROR" in outputs[1]:
        pytest.skip(f"needs a package index: {outputs[1][-300:]}")
    for one, output in zip(wanted, outputs, strict=True):
        lines = [steadied(line) for line in output.splitlines()]
        assert missing(one.lines, lines) == "", f"$ {one.command}\n{output}"


def surroundings(place: Path) -> dict[str, str]:
    """The environment of the one who tests, with what leads to their package registries; runs lie elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ORCHESTRATE")}
    return kept | {"XDG_STATE_HOME": str(place / "state"), "CI": "1"}


def played(commands: list[str], place: Path, env: dict[str, str]) -> list[str]:
    """What a shell prints for each of the commands, run one after the other as somebody would paste them."""
    mark = "=== the next command ==="
    script = place / "pasted.sh"
    script.write_text("".join(f"{command}\necho '{mark}'\n" for command in commands), encoding="utf-8")
    done = subprocess.run(
        ["bash", str(script)],
        cwd=place,
        env=env,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.split(f"{mark}\n")[: len(commands)]
