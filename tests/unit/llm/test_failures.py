"""A provider's failure becomes the error that says who has to react."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from orchestrator.llm.errors import (
    CallTimedOut,
    ContextOverflow,
    CredentialsMissing,
    ModelError,
    QuotaExhausted,
    RateLimited,
    RequestRefused,
    Unavailable,
    UnknownModel,
)
from orchestrator.llm.litellm_adapter.error_mapping import (
    map_error,
    parse_provider_message,
    parse_retry_after_s,
    parse_wait_text,
)

NOW_S = 1_700_000_000.0


class ProviderError(Exception):
    """Stands for what litellm raises: a status, a message, perhaps headers."""

    def __init__(self, status_code: int | None, message: str, **headers: str) -> None:
        super().__init__(message)
        self.message = message
        if status_code is not None:
            self.status_code = status_code
        self.litellm_response_headers = {name.replace("_", "-"): value for name, value in headers.items()}


def translated(status: int | None, message: str = "", **headers: str) -> ModelError:
    return map_error(ProviderError(status, message, **headers), "openai/x", "OPENAI_API_KEY", NOW_S)


@pytest.mark.parametrize(
    ("status", "message", "error"),
    [
        (429, "Rate limit reached for requests", RateLimited),
        (429, '{"error": {"message": "Over.", "code": "insufficient_quota"}}', QuotaExhausted),
        (429, "You exceeded your current quota, please check your plan", QuotaExhausted),
        (429, "You exceeded your current quota. Please retry in 38.6s.", RateLimited),
        (429, "Quota exceeded for quota metric 'requests per day'", QuotaExhausted),
        (402, "Payment required", QuotaExhausted),
        (400, "Your credit balance is too low to access the API.", QuotaExhausted),
        (403, "insufficient credits", QuotaExhausted),
        (401, "Incorrect API key", CredentialsMissing),
        (403, "Forbidden", CredentialsMissing),
        (500, "Missing Gemini API key. Get it at …", CredentialsMissing),
        (None, "Unable to locate credentials", CredentialsMissing),
        (400, "This model's maximum context length is 8192 tokens", ContextOverflow),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", ContextOverflow),
        (413, "request_too_large", ContextOverflow),
        (404, "The model `x` does not exist", UnknownModel),
        (400, "x is not a valid model ID", UnknownModel),
        (400, "LLM Provider NOT provided. Pass in the LLM provider", UnknownModel),
        (400, "content policy violation", RequestRefused),
        (413, "too large a file", RequestRefused),
        (422, "temperature must be below 2", RequestRefused),
        (302, "", RequestRefused),
        (408, "", CallTimedOut),
        (504, "gateway timeout", CallTimedOut),
        (500, "server error", Unavailable),
        (503, "<html>", Unavailable),
        (529, "Overloaded", Unavailable),
        (200, "Unable to get json response", Unavailable),
        (None, "Server disconnected", Unavailable),
    ],
)
def test_status_and_words_decide_the_error(status: int | None, message: str, error: type[ModelError]) -> None:
    assert type(translated(status, message)) is error


def test_a_body_that_echoes_the_conversation_is_not_mistaken_for_the_providers_own_words() -> None:
    echoed = "temperature must be below 2; input was: " + "x" * 400 + " insufficient credits, context length"
    assert type(translated(400, echoed)) is RequestRefused


def test_class_names_decide_where_the_status_does_not() -> None:
    class ContextWindowExceededError(ProviderError):
        pass

    class Timeout(ProviderError):
        pass

    assert type(map_error(ContextWindowExceededError(400, "too much"), "m", "K", NOW_S)) is ContextOverflow
    assert type(map_error(Timeout(None, "Request timed out"), "m", "K", NOW_S)) is CallTimedOut


def test_a_missing_package_is_named_and_not_tried_again() -> None:
    wrapped = ProviderError(500, "No module named 'mcp'")
    wrapped.__context__ = ModuleNotFoundError("No module named 'mcp'", name="mcp")
    error = map_error(wrapped, "openai/x", "K", NOW_S)
    assert type(error) is RequestRefused
    assert "package 'mcp' is missing" in str(error)


def test_the_message_says_model_meaning_and_the_providers_words() -> None:
    raw = 'litellm.AuthenticationError: AuthenticationError: OpenAIException - {"error": {"message": "No such key"}}'
    assert str(translated(401, raw)) == ("openai/x: the key is missing or refused (set OPENAI_API_KEY): No such key")


@pytest.mark.parametrize(
    ("raw", "words", "code"),
    [
        ("litellm.RateLimitError: RateLimitError: OpenAIException - slow\n down", "slow down", ""),
        ('X - {"error": {"message": "m", "code": "c", "type": "t"}}', "m", "c t"),
        ('{"error": "model not found"}', "model not found", ""),
        ('{"message": "m", "code": 400}', "m", "400"),
        ('{"error": {', '{"error": {', ""),
        (
            "Cannot connect to host a:1 ssl:<ssl.SSLContext object at 0x7f> [refused]",
            "Cannot connect to host a:1 [refused]",
            "",
        ),
        ("boom\nTraceback (most recent call last):\n  File …", "boom", ""),
        ("x" * 1_000, "x" * 399 + "…", ""),
        ("", "", ""),
    ],
)
def test_what_the_provider_said_is_unwrapped(raw: str, words: str, code: str) -> None:
    assert parse_provider_message(raw) == (words, code)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"Retry-After-Ms": "250", "Retry-After": "9"}, 0.25),
        ({"Retry-After": format_datetime(datetime.fromtimestamp(NOW_S + 90, UTC), usegmt=True)}, 90.0),
        ({"Retry-After": format_datetime(datetime.fromtimestamp(NOW_S - 90, UTC), usegmt=True)}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": ""}, None),
    ],
)
def test_retry_after_is_read_as_seconds_milliseconds_or_date(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after_s(headers, NOW_S) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 20ms.", 0.02),
        ("Please try again in 1m2.5s. Visit …", 62.5),
        ("Please retry in 38.6s.", 38.6),
        ('"retryDelay": "38s"', 38.0),
        ("Retry after 2 minutes", 120.0),
        ("try again in 3h", 10_800.0),
        ("try again later", None),
    ],
)
def test_a_wait_in_words_is_understood(text: str, seconds: float | None) -> None:
    assert parse_wait_text(text) == (None if seconds is None else pytest.approx(seconds))


def test_the_headers_wish_goes_before_the_words() -> None:
    assert translated(429, "try again in 5s", retry_after="3").retry_after_s == 3
    assert translated(429, "try again in 5s").retry_after_s == 5
    assert translated(429, "slow").retry_after_s is None
    assert translated(503, "busy", retry_after="30").retry_after_s == 30
