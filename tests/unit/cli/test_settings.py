"""`--set KEY=VALUE`: any key of the configuration, names with dots included."""

from typing import Any

import click
import pytest

from orchestrator.cli.flags import Flags


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
    assert Flags((pair,)).values == values


def test_a_model_is_named_for_a_role_a_variant_of_the_worker_or_a_lens_of_the_judge() -> None:
    flags = Flags()
    flags.set_models(("judge=a", "judge.code=b", "worker.strong=c"))
    assert flags.values == {
        "roles": {
            "judge": {"model": "a", "lenses": {"code": {"model": "b"}}},
            "worker": {"variants": {"strong": {"model": "c"}}},
        }
    }


@pytest.mark.parametrize("pair", ["planner.code=x", "reviewer=x", "judge"])
def test_a_model_for_nobody_is_refused(pair: str) -> None:
    with pytest.raises(click.BadParameter, match=r"judge\.LENS=MODEL"):
        Flags().set_models((pair,))
