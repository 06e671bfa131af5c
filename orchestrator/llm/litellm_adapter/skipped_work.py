"""Leaving out litellm's work for logs and spend reports that nobody reads here: half of what it does in a call.

Costs are found by `pricing.py`, calls are recorded in the journal.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

_SCHEMA_CHECK = "drop_non_python_regex_patterns"
_MOST_SCHEMAS = 1_000


def skip_call_log(litellm: Any) -> AbstractContextManager[None]:  # noqa: ANN401  a module
    """Keep litellm from writing a log record of the calls inside, as it does of those that it makes for itself."""
    internal = getattr(litellm, "_internal_context", None)
    mark = getattr(internal, "is_internal_call", None)
    if not isinstance(mark, ContextVar):  # another version, which logs elsewhere: slower, and as good
        return nullcontext()
    return _set_mark(mark)


@contextmanager
def _set_mark(mark: ContextVar[bool]) -> Iterator[None]:
    before = mark.set(True)
    try:
        yield
    finally:
        mark.reset(before)


def build_skipping_arguments(litellm: Any) -> dict[str, bool]:  # noqa: ANN401  a module
    """Return the argument of a call that keeps litellm from loading its MCP server, where it knows that argument.

    Tools of ours are none of that server's. Loading it takes half a second of CPU and 19 MB at the first call.
    """
    name = "_skip_mcp_handler"
    remove_own = getattr(litellm.litellm_core_utils.core_helpers, "filter_internal_params", None)
    if remove_own is None or remove_own({name: True}):
        return {}  # another version, which might send it to the provider
    return {name: True}


def skip_cost_reports(litellm: Any) -> None:  # noqa: ANN401  a module
    """Keep litellm from pricing every reply for its own reports, which takes a quarter of a call."""
    logging = litellm.litellm_core_utils.litellm_logging.Logging
    if hasattr(logging, "response_cost_calculator"):
        logging.response_cost_calculator = _find_no_cost


def _find_no_cost(*_args: object, **_options: object) -> None:
    """Stand for a cost that is not needed."""


def skip_token_counts(litellm: Any) -> None:  # noqa: ANN401  a module
    """Keep litellm from loading a tokenizer before its first call; it is loaded if a provider's adapter counts by it.

    Loading takes 0.2 s of CPU, and the counts that we use are the provider's own.
    """
    load = getattr(litellm.main, "_load_default_encoding", None)
    if load is not None and hasattr(litellm.main, "_encoding_cache"):
        litellm.main._encoding_cache = _LateTokenizer(load)


def remember_checked_schemas(litellm: Any) -> None:  # noqa: ANN401  a module
    """Have litellm check the schema of a tool once: it walks those of all tools at every call, a tenth of its work."""
    checking = getattr(litellm.litellm_core_utils.prompt_templates, "common_utils", None)
    check = getattr(checking, _SCHEMA_CHECK, None)
    if check is None:
        return
    remembered = _RememberedChecks(check)
    for module in (checking, sys.modules.get("litellm.llms.openai.chat.gpt_transformation")):
        if hasattr(module, _SCHEMA_CHECK):
            setattr(module, _SCHEMA_CHECK, remembered)


class _RememberedChecks:
    """The results of checking the latest schemas, kept by the very objects that were checked."""

    def __init__(self, check: Callable[[Any], Any]) -> None:
        self._check = check
        self._results: dict[int, tuple[Any, Any]] = {}

    def __call__(self, schema: Any) -> Any:  # noqa: ANN401  as theirs
        known = self._results.get(id(schema))
        if known is not None and known[0] is schema:
            return known[1]
        if len(self._results) >= _MOST_SCHEMAS:
            self._results.clear()
        result = self._check(schema)
        self._results[id(schema)] = (schema, result)
        return result


class _LateTokenizer:
    """A tokenizer that is loaded when it is first used."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  the tokenizer's own
        return getattr(self._load(), name)
