"""Batches: their sizes, what the shell's driver does around each line, and how what it wrote is read."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.migrate.steps import batch_script
from orchestrator.migrate.steps.batch_script import (
    BatchSizer,
    FileCommand,
    build_batch_command,
    count_fitting,
    parse_batch_results,
)


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(1, 64)), max_size=8), st.integers(1, 5000), st.integers(1, 16))
def test_a_batch_has_at_least_one_file_and_never_more_than_a_fair_share(
    learnt: list[tuple[float, int]], waiting: int, slots: int
) -> None:
    batches = BatchSizer(slots)
    for seconds, files in learnt:
        batches.record_duration(seconds, files)
    assert 1 <= batches.choose_size(waiting) <= min(64, -(-waiting // slots))


@pytest.mark.parametrize(("each", "size"), [(0.0, 64), (0.01, 64), (0.2, 40), (1.0, 8), (30.0, 1)])
def test_a_batch_is_about_eight_seconds_of_work(each: float, size: int) -> None:
    batches = BatchSizer(2)
    batches.record_duration(10 * each, 10)
    assert batches.choose_size(1000) == size
    assert batches.disable_batches()
    assert not batches.disable_batches()
    assert batches.choose_size(1000) == 1


@settings(max_examples=20)
@given(st.lists(st.integers(0, 400_000), min_size=1, max_size=64), st.integers(1, 3000))
def test_a_batch_fits_into_what_one_command_may_be_given(sizes: list[int], words: int) -> None:
    lines = [FileCommand(f"f{n}", "x" * words, bytes(size)) for n, size in enumerate(sizes)]
    count = count_fitting(lines)
    assert 1 <= count <= len(lines)
    made = build_batch_command(lines[:count], 1)
    assert count == 1 or (len(made.line.encode()) < 128 * 1024 and sum(sizes[:count]) <= batch_script.MAX_CONTENT_BYTES)


Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a batch with the shell of this machine, in `tmp_path / "work"`; what it wrote, or its exit code."""
    monkeypatch.setattr(batch_script, "EXCHANGE_FOLDERS", (str(tmp_path / "exchange"),))
    monkeypatch.setattr(batch_script, "WRITABLE_PLACES", '"$HOME"')  # the machine's own /tmp is nobody else's
    (tmp_path / "exchange").mkdir()
    (tmp_path / "home").mkdir()

    def carry_out(lines: list[FileCommand], timeout_s: float = 20) -> list[batch_script.FileCommandResult] | int | None:
        command = build_batch_command(lines, timeout_s)
        # processes come and go beside a test
        line = command.line.replace("/proc/[0-9]*", "/proc/1")
        files = {variable: f"{tmp_path}/exchange/{name}" for variable, name in command.files.items()}
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "SHELL": "/bin/sh", "LINES_SEEN": "1"}
        work = tmp_path / "work"
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=work,
            env=env | files,
            input=command.stdin.encode(),
            capture_output=True,
            check=False,
        )
        if done.returncode:
            return done.returncode
        found = {name: Path(path).read_bytes() for name, path in files.items() if Path(path).is_file()}
        return parse_batch_results(found, len(lines))

    return carry_out


def work(tmp_path: Path, **files: bytes) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    for name, content in files.items():
        (place / name).write_bytes(content)
    return place


def test_every_line_has_its_own_output_exit_code_and_content_and_the_originals_are_back(
    tmp_path: Path, run: Run
) -> None:
    place = work(tmp_path, a=b"one\n", b=b"two\n", c=b"three\n", d=b"four\n")
    (place / "a").chmod(0o755)
    lines = [
        FileCommand("a", "echo said; echo more >> a"),
        FileCommand("b", "echo oops >&2; echo half > b; exit 3"),
        FileCommand("c", "rm c; mkdir c"),
        FileCommand("d", "cat a b; ls; env | grep -c ORCHESTRATE; cat", b"\x00given\xff"),
    ]
    done = run(lines)
    assert [(one.exit_code, one.printed, one.content) for one in done] == [
        (0, b"said\n", b"one\nmore\n"),
        (3, b"oops\n", b"half\n"),
        (0, b"", None),
        (0, b"one\ntwo\na\nb\nc\nd\n0\n", b"\x00given\xff"),
    ]
    assert {path.name: path.read_bytes() for path in place.iterdir()} == {
        "a": b"one\n",
        "b": b"two\n",
        "c": b"three\n",
        "d": b"four\n",
    }
    assert (place / "a").stat().st_mode & 0o777 == 0o755


def test_a_line_that_hangs_is_ended_and_those_after_it_go_on(tmp_path: Path, run: Run) -> None:
    work(tmp_path, a=b"1\n", b=b"2\n")
    slow, quick = run([FileCommand("a", "echo x > a; sleep 30 & sleep 30"), FileCommand("b", "kill -9 $$")], 2)
    assert (slow.exit_code, slow.content, quick.exit_code) == (137, b"x\n", 137)
    assert slow.seconds >= 1.98
    assert quick.seconds < slow.seconds


def test_what_a_line_leaves_at_home_is_gone_before_the_next(tmp_path: Path, run: Run) -> None:
    work(tmp_path, a=b"1\n", b=b"2\n")
    (tmp_path / "home" / "kept").write_text("")
    leave = 'ls -A $HOME; mkdir -p $HOME/.cache/x; echo > "$HOME/.cache/y  z"'
    assert [one.printed for one in run([FileCommand("a", leave), FileCommand("b", leave)])] == [b"kept\n", b"kept\n"]
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["kept"]


def test_odd_names_and_lines_are_taken_as_they_are(tmp_path: Path, run: Run) -> None:
    names = ["quo'te\"", "a b", "$(touch x)", "`y`", "ü", "-dash", "back\\n"]
    place = work(tmp_path, **dict.fromkeys(names, b"old\n"))
    done = run(
        [FileCommand(name, "printf '%s' \"$0\" '$x' > /dev/null; echo 'a\\nb' | cat", b"new\n") for name in names]
    )
    assert [one.content for one in done] == [b"new\n"] * len(names)
    assert sorted(path.name for path in place.iterdir()) == sorted(names)


def test_a_batch_that_cannot_put_a_file_back_says_so(tmp_path: Path, run: Run) -> None:
    work(tmp_path, a=b"1\n", b=b"2\n")
    assert run([FileCommand("a", "true"), FileCommand("missing", "true"), FileCommand("b", "true")]) == 91


@given(st.binary(max_size=60), st.dictionaries(st.sampled_from(["_0_SAID", "_0_MADE", "_1_SAID"]), st.binary()))
def test_whatever_was_written_is_read_or_refused_as_a_whole(diary: bytes, files: dict[str, bytes]) -> None:
    written = {f"ORCHESTRATE_BATCH{name}": content for name, content in files.items()}
    for text in (diary, b"0 0 file 1.00 2.00\n" + diary, b"0 0 file 1.00 2.00\nend\n", b"0 0 gone 1 2\nend\n"):
        found = parse_batch_results(written | {"ORCHESTRATE_BATCH": text}, 1)
        assert found is None or len(found) == 1
