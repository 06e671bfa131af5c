import errno
import os
from pathlib import Path

import pytest

from orchestrator.hands.execution.output_pipe import OutputPipe


def test_a_log_that_cannot_be_written_is_told_and_stops_the_output() -> None:
    pipe = OutputPipe(Path("/dev/full"), 1000, None)
    try:
        os.write(pipe.writer, b"x" * 100)
        assert pipe.copy_available()
        assert "No space left on device" in pipe.failure
        assert not pipe.is_over_limit
    finally:
        pipe.close()


def test_the_log_is_private_and_what_it_held_is_gone(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("old and long")
    pipe = OutputPipe(tmp_path / "log", 1000, None)
    os.write(pipe.writer, b"new")
    assert not pipe.copy_available()
    pipe.close_writer()
    assert pipe.copy_available()
    pipe.close()
    assert (tmp_path / "log").read_text() == "new"
    assert (pipe.size_bytes, pipe.is_over_limit, pipe.failure) == (3, False, "")


def test_a_log_on_a_file_system_without_splicing_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "splice", refuse)
    pipe = OutputPipe(tmp_path / "log", 5, None)
    os.write(pipe.writer, b"seven..")
    assert pipe.copy_available()
    pipe.close()
    assert (tmp_path / "log").read_text() == "seven"
    assert (pipe.size_bytes, pipe.is_over_limit) == (5, True)
