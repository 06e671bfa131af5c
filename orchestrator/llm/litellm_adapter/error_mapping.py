"""A provider's failure → the error that says who has to react. Knows litellm's exceptions by their attributes only."""

import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from orchestrator.domain.text.encoding import decode_json
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.llm import errors

MAX_MESSAGE_CHARS = 400
MAX_SCANNED_CHARS = 16_000
"""As much of what a provider says of a failure is looked at."""
MAX_WAIT_S = 3_652 * 86_400.0
"""A longer pause that a provider asks for is taken for this one: it is over any bound, and still a date."""
UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

LITELLM_PREFIX = compile_lazily(r"\A(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)\b(?: Error)?\s*[:-]\s*)+")
NOISE = compile_lazily(r" ssl:<[^>]{0,400}>|\nTraceback \(most recent call last\).*", re.DOTALL)
CONTEXT_OVERFLOW_TEXT = compile_lazily(
    r"context[ _](?:length|window|size|limit)|maximum context|prompt is too long|too many (?:input )?tokens"
    r"|request_too_large|input is too long|exceeds? the (?:model's )?(?:maximum|limit).{0,40}tokens",
    re.IGNORECASE,
)
NO_CREDIT_TEXT = compile_lazily(
    r"insufficient[ _](?:quota|credits?|funds|balance)|credit balance is too low|billing_hard_limit|out of credits"
    r"|payment required|spend(?:ing)? limit",
    re.IGNORECASE,
)
OVER_QUOTA_TEXT = compile_lazily(r"exceeded your current quota|quota.{0,40}per ?day", re.IGNORECASE)
NO_KEY_TEXT = compile_lazily(
    r"missing .{0,40}(?:api[ _]key|credentials)|api[ _]key.{0,60}(?:must be set|not (?:set|found|provided)|required)"
    r"|no api[ _]key|unable to locate credentials|could not (?:load|find) .{0,20}credentials",
    re.IGNORECASE,
)
NO_MODEL_TEXT = compile_lazily(
    r"llm provider not provided|unmapped llm provider|model_not_found|(?:not a valid|unknown|invalid) model"
    r"|model\b.{0,80}(?:does not exist|not found)",
    re.IGNORECASE,
)
WAIT_TEXT = compile_lazily(
    r"(?:try again in|retry in|retry after|retrydelay\W{1,4})\s*(?P<span>(?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)[a-z]*\s*)+)",
    re.IGNORECASE,
)
TIME_SPAN = compile_lazily(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", re.IGNORECASE)


def map_error(error: Exception, model: str, key_name: str, now_s: float) -> errors.ModelError:
    """Return our error for what litellm raised.

    Args:
        error: the exception, or a chain of them.
        model: the model that was asked, for the message.
        key_name: the environment variable to name when the key is the trouble.
        now_s: Unix time, to make a Retry-After date a span.
    """
    if missing := _missing_package(error):
        return errors.RequestRefused(
            f"{model}: the Python package {missing!r} is missing here; install it, then resume"
        )
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        status = None
    names = {kind.__name__ for kind in type(error).__mro__}
    raw = str(getattr(error, "message", "") or error)[:MAX_SCANNED_CHARS]
    said, code = parse_provider_message(raw)
    wait_s = parse_retry_after_s(_headers(error), now_s)
    if wait_s is None:
        wait_s = parse_wait_text(raw)
    if wait_s is not None:
        wait_s = min(wait_s, MAX_WAIT_S)
    kind, what = _classify_error(status, names, f"{code} {said}", wait_s, key_name)
    return kind(": ".join(filter(None, (model, what, said))), wait_s)


def _classify_error(
    status: int | None, names: set[str], said: str, wait_s: float | None, key_name: str
) -> tuple[type[errors.ModelError], str]:
    if "ContextWindowExceededError" in names or (status in {400, 413, 422} and CONTEXT_OVERFLOW_TEXT.search(said)):
        return errors.ContextOverflow, "the conversation is longer than the model's window"
    if status == 402 or (status in {400, 403, 429} and _is_quota(said, wait_s)):
        return errors.QuotaExhausted, "the account's quota or credit is used up"
    if status == 429 or "RateLimitError" in names:
        return errors.RateLimited, "the provider asks to slow down"
    if status in {401, 403} or NO_KEY_TEXT.search(said):
        return errors.CredentialsMissing, f"the key is missing or refused (set {key_name})"
    if status == 404 or (status in {400, 422} and NO_MODEL_TEXT.search(said)):
        return errors.UnknownModel, "no such provider or model, or a wrong api_base"
    if status in {408, 504} or "Timeout" in names:
        return errors.CallTimedOut, "no reply in time"
    if status is not None and 300 <= status < 500:
        return errors.RequestRefused, f"the provider refuses the request ({status})"
    return errors.Unavailable, "the provider is unavailable"


def _is_quota(said: str, wait_s: float | None) -> bool:
    return bool(NO_CREDIT_TEXT.search(said)) or (wait_s is None and bool(OVER_QUOTA_TEXT.search(said)))


def parse_provider_message(raw: str) -> tuple[str, str]:
    """Return what the provider said and its error code, without litellm's prefixes and the JSON around it.

    The words are one line of at most 400 characters; the code is empty when there is none.
    """
    text = LITELLM_PREFIX.sub("", raw)
    message, code = _find_error(text), ""
    if isinstance(message, dict):
        code = " ".join(str(message[name]) for name in ("code", "type", "status") if message.get(name))
        message = message.get("message")
    if not isinstance(message, str) or not message:
        message = text
    line = " ".join(NOISE.sub("", message).split())
    if len(line) > MAX_MESSAGE_CHARS:
        line = line[: MAX_MESSAGE_CHARS - 1] + "…"
    return line, code


def _find_error(text: str) -> object:
    """Return what stands under `error` in the JSON that a text ends with, or all of that; None if it ends with none."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        body = decode_json(text[start:])
    except ValueError:
        return None
    if isinstance(body, dict):
        return body.get("error", body)
    return None


def parse_retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the seconds that `Retry-After` (a number or an HTTP date) or `Retry-After-Ms` asks for; else None."""
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(lower.get(name, "")) * unit_s
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    try:
        return max(0.0, parsedate_to_datetime(lower.get("retry-after", "")).timestamp() - now_s)
    except (ValueError, OverflowError, OSError):
        return None


def parse_wait_text(text: str) -> float | None:
    """Return the seconds that a message like `Please try again in 1m2.5s` asks for; None when it names no time."""
    found = WAIT_TEXT.search(text)
    if found is None:
        return None
    return sum(float(number) * UNIT_S[unit.lower()] for number, unit in TIME_SPAN.findall(found["span"]))


def _headers(error: Exception) -> Mapping[str, str]:
    for holder in (error, getattr(error, "response", None)):
        for name in ("litellm_response_headers", "headers"):
            headers = getattr(holder, name, None)
            if isinstance(headers, Mapping) and headers:
                return {str(key): str(value) for key, value in headers.items()}
    return {}


def _missing_package(error: BaseException | None) -> str | None:
    while error is not None:
        if isinstance(error, ImportError):
            return error.name or str(error)
        error = error.__cause__ or error.__context__
    return None
