"""Whether a file still parses, asked in several threads: CPython 3.11 by itself gets that wrong."""

import gc
import threading
import time
from collections.abc import Iterator

import pytest

from orchestrator.migrate.steps.parse_check import find_parse_error


class Pausing:
    """Garbage whose end lets another thread go on, at whatever moment the collector comes by."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        time.sleep(0.0001)


@pytest.fixture
def _often() -> Iterator[None]:
    usual = gc.get_threshold()
    gc.set_threshold(20)
    yield
    gc.set_threshold(*usual)


@pytest.mark.usefixtures("_often")
def test_files_can_be_parsed_in_several_threads() -> None:
    source = b"x = [1, (2, {3: f(4)})]\ndef f(a, b=1):\n    return a + b * (a - b)\n" * 5
    said: list[str] = []

    def parse() -> None:
        for _ in range(40):
            garbage = [Pausing() for _ in range(5)]
            del garbage
            said.append(find_parse_error("a.py", source, source))

    threads = [threading.Thread(target=parse) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == [""] * 160
