"""The calls under way at a provider follow the workers, and a limit below them is named."""

from typing import Any

import pytest

from orchestrator.config.layers import load_config
from orchestrator.config.model import Config
from orchestrator.project.narrow_limits import find_narrow_limits
from orchestrator.project.options import build_provider_rules

MODELS = {"worker": {"model": "openai/a"}, "judge": {"model": "openai/b"}}


def config(**values: Any) -> Config:
    return load_config(None, {"roles": MODELS} | values, environ={}).config


@pytest.mark.parametrize("word", [0, "auto"])
@pytest.mark.parametrize("workers", [1, 32, 256])
def test_there_is_room_for_every_worker_beside_the_share_of_the_judge(workers: int, word: object) -> None:
    found = config(run={"max_workers": workers}, retry={"concurrency": word})
    limits = build_provider_rules(found).get_limits("openai")
    assert limits.concurrency > limits.get_share(limits.concurrency, is_judge=False) >= workers
    assert find_narrow_limits(found) == ()


def test_a_limit_that_was_set_holds_and_is_named_where_it_is_below_the_workers() -> None:
    found = config(run={"max_workers": 32}, retry={"concurrency": 8})
    assert build_provider_rules(found).get_limits("openai").concurrency == 8
    (narrow,) = find_narrow_limits(found)
    assert (narrow.key, narrow.calls, narrow.workers) == ("openai", 7, 32)
    assert "retry.concurrency = 8" in narrow.text
    own = config(run={"max_workers": 32}, providers={"openai": {"concurrency": 16}})
    assert 'concurrency = 16 under [providers."openai"]' in find_narrow_limits(own)[0].text
