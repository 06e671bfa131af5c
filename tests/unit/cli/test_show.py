"""`show` begins with what decides, and folds what is as it should be."""

from pathlib import Path

from tests.unit.cli.test_run_targets import LATEST, Shop


def test_show_begins_with_the_outcome_and_the_next_step_and_folds_receipts(tmp_path: Path) -> None:
    shop = Shop(tmp_path, LATEST)
    lines = shop.say("show", "discounts").out.splitlines()
    assert lines[1:3] == [
        "Landed after 2 attempts.",
        f"next: orchestrate diff {LATEST} discounts: look at what landed",
    ]
    assert not [line for line in lines if line.startswith("receipt ")]
    assert [line for line in lines if line.startswith("✓ python3 -m unittest -v: ")]


def test_show_with_all_has_every_receipt_in_full(tmp_path: Path) -> None:
    shop = Shop(tmp_path, LATEST)
    lines = shop.say("show", "discounts", "--all").out.splitlines()
    assert sum(line.startswith("receipt ") for line in lines) == len(
        shop.say("show", "discounts", "--json").json["receipts"]
    )
