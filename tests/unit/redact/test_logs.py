"""Taking known values out of files, however large they are and whatever else is in them."""

from pathlib import Path

from orchestrator.redact.redactor import Redactor, scrub_log

SECRET = "s3cret-v\u00e4lue-of-mine"
REDACTOR = Redactor({"MY_TOKEN": SECRET})
CHUNK = 4 * 1024 * 1024


def test_a_known_value_is_gone_and_every_other_byte_is_as_it_was(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\x00\xff\xfe" + SECRET.encode() + b"\x1b[2J\x80")
    assert scrub_log(log, REDACTOR)
    assert log.read_bytes() == b"\x00\xff\xfe[redacted:MY_TOKEN]\x1b[2J\x80"
    assert not scrub_log(log, REDACTOR)


def test_a_value_across_the_edge_of_what_is_read_at_once_is_found(tmp_path: Path) -> None:
    log, half = tmp_path / "log", len(SECRET) // 2
    log.write_bytes(b"." * (CHUNK - half) + SECRET.encode() + b"." * CHUNK)
    assert scrub_log(log, REDACTOR)
    assert log.read_bytes() == b"." * (CHUNK - half) + b"[redacted:MY_TOKEN]" + b"." * CHUNK


def test_a_file_without_a_known_value_is_not_written(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"nothing of the kind")
    before = log.stat()
    assert not scrub_log(log, REDACTOR)
    assert log.stat().st_ino == before.st_ino
    assert not scrub_log(tmp_path / "missing", REDACTOR)
