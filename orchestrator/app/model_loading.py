"""Load the library that asks providers beside other work: it takes seconds, and the first request waits for it."""

import threading


def start_loading_models() -> None:
    """Begin to load it in a thread of its own; a request that comes earlier waits for it."""
    threading.Thread(target=_load_models, name="load models", daemon=True).start()


def _load_models() -> None:
    from orchestrator.llm.litellm_adapter.client import load_litellm  # the thread is to import it

    load_litellm()
