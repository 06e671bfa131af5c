"""Colours and the pager: on terminals only, as the user's environment and options say."""

import os
import pty
import subprocess
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

import pytest

from orchestrator.cli.terminal.choices import wants_colour
from orchestrator.cli.terminal.pager import find_pager
from orchestrator.cli.terminal.painting import paint_details, paint_diff, paint_status
from tests.running.cli import COMMAND, environment
from tests.running.in_process import orchestrate
from tests.unit.cli.test_run_targets import LATEST, Shop


class Terminal(StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "in_file", "on_terminal"),
    [
        ({}, False, True),
        ({"NO_COLOR": ""}, False, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"FORCE_COLOR": "1", "CLICOLOR": "0", "TERM": "dumb"}, True, True),
        ({"CLICOLOR_FORCE": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, False, True),
        ({"CLICOLOR": "0"}, False, False),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_the_environment_says_whether_there_are_colours(
    environ: Mapping[str, str], in_file: bool, on_terminal: bool
) -> None:
    assert (wants_colour(StringIO(), environ), wants_colour(Terminal(), environ)) == (in_file, on_terminal)


@pytest.mark.parametrize(
    ("words", "environ", "is_coloured"),
    [
        ((), {}, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
    ],
)
@pytest.mark.parametrize("verb", ["status", "show", "logs"])
def test_the_option_goes_before_the_environment(
    tmp_path: Path, verb: str, words: tuple[str, ...], environ: Mapping[str, str], is_coloured: bool
) -> None:
    shop = Shop(tmp_path, LATEST)
    env = {**environment(shop.root), **environ}
    done = orchestrate(verb, *words, "--state", shop.state, cwd=shop.root, env=env)
    assert (done.code, "\x1b[" in done.out) == (0, is_coloured)


def test_nothing_that_a_model_said_steers_the_terminal() -> None:
    hostile = ["x  done  \x1b]52;c;Zm9v\x07", "\x1b[2J", "  ✓ \x1b[31mred"]
    for paint in (paint_status, paint_details):
        shown = "".join(paint(hostile))
        assert not {"\x1b]", "\x1b[2J", "\x1b[31m"} & {
            part for part in ("\x1b]", "\x1b[2J", "\x1b[31m") if part in shown
        }


def test_a_heading_after_a_blank_line_is_dimmed_on_its_own_line() -> None:
    assert list(paint_details(["x  done  X", "Landed.", "\nattempt 1 (fresh)"]))[2:] == [
        "",
        "\x1b[2mattempt 1 (fresh)\x1b[0m",
    ]


def test_a_removed_line_that_looks_like_a_head_is_coloured_as_removed() -> None:
    diff = ["diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "--- rule", "+++ rule"]
    painted = list(paint_diff(diff))
    assert [line[:5] for line in painted] == ["\x1b[1md", "\x1b[1m-", "\x1b[1m+", "\x1b[36m", "\x1b[31m", "\x1b[32m"]


def test_what_is_longer_than_the_screen_goes_to_the_users_pager(tmp_path: Path) -> None:
    shop = Shop(tmp_path, LATEST)
    seen = tmp_path / "seen.txt"
    script = tmp_path / "pager"
    script.write_text(f"#!/bin/sh\nexec cat >{seen}\n")
    script.chmod(0o755)
    env = {**environment(shop.root), "LINES": "5", "COLUMNS": "200", "TERM": "xterm", "PAGER": "false"}
    for words, is_paged in ((("--no-pager",), False), ((), True)):
        leader, follower = pty.openpty()
        done = subprocess.run(
            [*COMMAND, "show", *words, "--state", shop.state],
            cwd=shop.root,
            env=env | {"ORCHESTRATE_PAGER": str(script)},
            stdin=subprocess.DEVNULL,
            stdout=follower,
            stderr=subprocess.PIPE,
            check=False,
        )
        os.close(follower)
        os.close(leader)
        assert (done.returncode, done.stderr, seen.exists()) == (0, b"", is_paged)
    assert seen.read_text().startswith("root  \x1b[32mdone\x1b[0m  ")


@pytest.mark.parametrize("path", ["{repo}/bin:/usr/bin:/bin", "bin:.:/usr/bin:/bin"])
def test_a_pager_of_the_repository_is_never_run(tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(tmp_path, LATEST)
    (shop.root / "bin").mkdir()
    for name in ("sh", "less"):
        (shop.root / "bin" / name).write_text("#!/bin/sh\ntouch run\n")
        (shop.root / "bin" / name).chmod(0o755)
    monkeypatch.chdir(shop.root)
    environ = {"PATH": path.format(repo=shop.root), "PAGER": "sh -c true"}
    (program, *words) = find_pager(environ, shop.root)
    assert (Path(program).is_relative_to(shop.root), words) == (False, ["-c", "true"])
    assert find_pager(environ | {"PAGER": "bin/less"}, shop.root) == []


@pytest.mark.parametrize("pager", ["", "cat", "no-such-pager -R"])
def test_without_a_pager_everything_is_printed(tmp_path: Path, pager: str) -> None:
    assert find_pager({"PATH": "/usr/bin:/bin", "PAGER": pager}, tmp_path) == []
