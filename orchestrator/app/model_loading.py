"""Load the library that asks providers beside other work: it takes seconds, and the first request waits for it."""

import threading

from anyio import to_thread

_is_idle = threading.Event()
_is_idle.set()


def start_loading_models() -> None:
    """Begin to load it in a thread of its own; a request that comes earlier waits for it."""
    _is_idle.clear()
    threading.Thread(target=_load_models, name="load models", daemon=True).start()


def _load_models() -> None:
    try:
        from orchestrator.llm.litellm_adapter.client import load_litellm  # the thread is to import it

        load_litellm()
    finally:
        _is_idle.set()


async def wait_for_models() -> None:
    """Wait as long as it is being loaded: checkouts that are made at the same time make the first request wait."""
    if not _is_idle.is_set():
        await to_thread.run_sync(_is_idle.wait, abandon_on_cancel=True)
