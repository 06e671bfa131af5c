"""Bounds on what one model call may receive, and how far its request came; `metered_transports` counts the bytes."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum

from orchestrator.llm.errors import ModelError, ReplyTooLarge, Unavailable

BYTES_PER_MB = 1_000_000
MAX_REPLY_MB = 2
STREAM_FACTOR = 32
"""How many times the size of a reply its stream may have: each piece of a few characters brings a frame of its own."""
ERROR_BYTES = 65_536
"""What is read of an answer that is no reply; the status says what happened, the rest is dropped."""
_INFLATED_BY_ZLIB = frozenset({"gzip", "x-gzip", "deflate"})
_KNOWN_ENCODINGS = _INFLATED_BY_ZLIB | {"", "identity"}


class CallStage(Enum):
    """The stage that the last request of a call reached."""

    UNSENT = "unsent"
    SENT = "sent"
    REFUSED = "refused"
    ACCEPTED = "accepted"


class ReplyMeter:
    """Count what one call sends and receives.

    Args:
        model: the model that is asked, for messages.
        max_bytes: the largest size of a reply, decompressed.
        is_streamed: whether the reply comes in pieces, each in a frame of its own.
    """

    def __init__(self, model: str, max_bytes: int, *, is_streamed: bool) -> None:
        self.model = model
        self.max_bytes = max_bytes
        self.max_wire_bytes = max_bytes * STREAM_FACTOR if is_streamed else max_bytes
        self.stage = CallStage.UNSENT
        self.fault: ModelError | None = None
        """Why the reply is given up, whatever the libraries above make of it."""

    @property
    def may_be_billed(self) -> bool:
        """Return True unless the provider got nothing or has refused."""
        return self.stage in {CallStage.SENT, CallStage.ACCEPTED}

    @contextmanager
    def count_call(self) -> Iterator[None]:
        """Count everything that is sent and received inside."""
        token = _METER.set(self)
        try:
            yield
        finally:
            _METER.reset(token)

    def check_size(self, size: int) -> None:
        """Give up a reply that has come to `size` bytes or characters if that is too much.

        Raises:
            ReplyTooLarge: it is.
        """
        if size > self.max_bytes:
            raise self.give_up(self.build_size_error(f"more than {self.max_bytes / BYTES_PER_MB:g} MB"))

    def build_size_error(self, what: str) -> ReplyTooLarge:
        """Return the error for a reply of which there is too much."""
        return ReplyTooLarge(
            f"{self.model}: the provider's reply has {what}, so it was given up; if that is a reply that you want, "
            f"raise `max_reply_mb` under [retry]"
        )

    def give_up(self, fault: ModelError) -> ModelError:
        """Record why the reply is given up, and return that; the first reason stays."""
        self.fault = self.fault or fault
        return self.fault


_METER: ContextVar[ReplyMeter | None] = ContextVar("reply_meter", default=None)


def find_current_meter() -> ReplyMeter | None:
    """Return the meter of the call under way; None outside of calls."""
    return _METER.get()


def build_body(meter: ReplyMeter, encoding: str, *, is_success: bool) -> "ReplyBody":
    """Return what takes in the body of an answer with this `Content-Encoding`.

    Raises:
        Unavailable: a reply is compressed in a way that cannot be undone in bounds.
    """
    meter.stage = CallStage.ACCEPTED if is_success else CallStage.REFUSED
    encoding = encoding.strip().lower()
    return _Reply(meter, encoding) if is_success else _Refusal(encoding)


class _Reply:
    """A reply's body: decompressed in bounds; too much of it ends the call."""

    def __init__(self, meter: ReplyMeter, encoding: str) -> None:
        self._meter = meter
        if encoding not in _KNOWN_ENCODINGS:
            raise meter.give_up(
                Unavailable(f"{meter.model}: the reply is compressed in a way nobody asked for ({encoding[:40]})")
            )
        self._inflate = _make_decoder(encoding)
        self._size = 0
        self._line = 0
        self.is_full = False

    def decode_chunk(self, data: bytes) -> bytes:
        """Return what a piece of the body stands for.

        Raises:
            ModelError: the body is too large, or cannot be decompressed.
        """
        data = self._inflated(data, self._meter.max_wire_bytes - self._size)
        self._size += len(data)
        last = data.rfind(b"\n")
        self._line = self._line + len(data) if last < 0 else len(data) - last - 1
        if self._size > self._meter.max_wire_bytes:
            megabytes = self._meter.max_wire_bytes / BYTES_PER_MB
            raise self._meter.give_up(self._meter.build_size_error(f"more than {megabytes:g} MB"))
        self._meter.check_size(self._line)
        return data

    def _inflated(self, data: bytes, room: int) -> bytes:
        if self._inflate is None:
            return data
        try:
            return self._inflate.decompress(data, room + 1)
        except zlib.error as error:
            broken = Unavailable(f"{self._meter.model}: the reply cannot be decompressed: {error}")
            raise self._meter.give_up(broken) from error


class _Refusal:
    """The body of an answer that is no reply: its beginning will do."""

    def __init__(self, encoding: str) -> None:
        self._room = ERROR_BYTES if encoding in _KNOWN_ENCODINGS else 0
        self._inflate = _make_decoder(encoding)

    @property
    def is_full(self) -> bool:
        """Return True if no more of the body is wanted."""
        return not self._room

    def decode_chunk(self, data: bytes) -> bytes:
        """Return what is wanted of a piece of the body."""
        if self.is_full:
            return b""
        try:
            data = data[: self._room] if self._inflate is None else self._inflate.decompress(data, self._room)
        except zlib.error:
            self._room = 0
            return b""
        self._room -= len(data)
        return data


ReplyBody = _Reply | _Refusal
"""The body of one answer. `is_full` is true if no more of it is wanted."""


def _make_decoder(encoding: str) -> "zlib._Decompress | None":
    """Return what undoes an encoding: gzip, or deflate with its header; None where there is nothing to undo."""
    if encoding in _INFLATED_BY_ZLIB:
        return zlib.decompressobj(zlib.MAX_WBITS | 32)
    return None
