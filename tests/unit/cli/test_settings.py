"""`--set KEY=VALUE`: any key of the configuration, names with dots included."""

from typing import Any

import pytest

from orchestrator.cli.options import settings_of


@pytest.mark.parametrize(
    ("pair", "values"),
    [
        ("budget.tokens=5", {"budget": {"tokens": 5}}),
        ("roles.worker.model=openai/gpt-4.1", {"roles": {"worker": {"model": "openai/gpt-4.1"}}}),
        ('budget.models."openai/gpt-4.1".usd=3', {"budget": {"models": {"openai/gpt-4.1": {"usd": 3}}}}),
        ('prices."a.b".input_usd_per_mtok=0.5', {"prices": {"a.b": {"input_usd_per_mtok": 0.5}}}),
    ],
)
def test_a_key_leads_to_its_place_and_quotes_keep_dots_together(pair: str, values: dict[str, Any]) -> None:
    assert settings_of((pair,)) == values
