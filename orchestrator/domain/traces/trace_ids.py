"""Ids of traces and spans by the W3C trace context, derived from names: the same run gives the same ids for ever."""

import hashlib

_TRACE_BYTES, _SPAN_BYTES = 16, 8
_SAMPLE_RANGE = 1 << 56


def build_trace_id(run: str) -> str:
    """Return the trace of a run as 32 hexadecimal digits: a resumed run goes on with the same one."""
    return hashlib.sha256(f"run {run}".encode()).digest()[:_TRACE_BYTES].hex()


def build_span_id(run: str, span: str) -> str:
    """Return the id of a span by its name in the run as 16 hexadecimal digits: sent twice it is the same span."""
    return hashlib.sha256(f"span {run} {span}".encode()).digest()[:_SPAN_BYTES].hex()


def is_trace_sampled(run: str, sample: float) -> bool:
    """Return True if a run is among the share `sample` of all runs, from 0 to 1, whose spans are sent."""
    return int(build_trace_id(run), 16) % _SAMPLE_RANGE < round(sample * _SAMPLE_RANGE)


def format_traceparent(run: str, span: str, *, is_sampled: bool) -> str:
    """Return the value of `traceparent` for what is done within a span."""
    return f"00-{build_trace_id(run)}-{build_span_id(run, span)}-{int(is_sampled):02d}"
