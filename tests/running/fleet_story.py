"""A run with a fleet at work, for the film and the pictures of the guide: `python -m tests.running.fleet_story DIR`.

Scripted models play planner, workers and judge; engine, git, sandbox and tests are real.
"""

import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from os import chdir
from pathlib import Path
from random import Random
from threading import Thread
from typing import NamedTuple

import anyio
from click.testing import CliRunner

from orchestrator.app.run_execution import RunExit, run_goal
from orchestrator.cli.main import cli
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.llm.scripted_model.script import ScriptedReply, ScriptedUsage
from orchestrator.project.options import Options
from tests.running.goals import Hears
from tests.running.projects import GATE_FLAGS, shop
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes

GOAL = "Bring the shop to the new year: discounts, gift cards, stock alerts, exports"
ANSWER_S = 5.0
"""So long a question waits for its answer."""


class Piece(NamedTuple):
    """A task: what it is called, the function that it adds, and the tasks that must land first."""

    key: str
    title: str
    function: str
    depends_on: tuple[str, ...] = ()


PIECES = (
    Piece("discounts", "Discounts in percent and in cents", "percent_off"),
    Piece("gift-cards", "Gift cards with a balance", "charge_card"),
    Piece("stock-alerts", "Alerts when stock runs low", "find_low_stock"),
    Piece("csv-export", "Export sales as CSV", "to_csv"),
    Piece("monthly", "A line for each month", "sum_month"),
    Piece("tax", "Tax by country", "add_tax"),
    Piece("shipping", "Shipping by weight", "price_parcel"),
    Piece("search", "Search that forgives typing errors", "find_similar"),
    Piece("receipts", "Receipts as plain text", "print_receipt", ("discounts",)),
    Piece("refunds", "Refunds in part and in full", "refund", ("gift-cards",)),
    Piece("wishlist", "A wish list for each customer", "add_wish"),
    Piece("rounding", "Round amounts as the bank does", "round_cents"),
)
ASKING, SENT_BACK, FAILING = "tax", "monthly", "search"
"""The tasks whose worker asks a person, whose first try is sent back, and which never gets through."""


def play_story() -> Iterator[ScriptedReply]:
    """Yield the replies of all models."""
    random = Random(7)
    drafts = []
    for piece in PIECES:
        module = _get_module(piece)
        drafts.append(
            {
                "key": piece.key,
                "title": piece.title,
                "outcome": f"{module} has {piece.function}(), with a test.",
                "paths": [module, _get_test(piece)],
                "depends_on": list(piece.depends_on),
            }
        )
    yield _paced(plans("root", *drafts), random, "Twelve pieces; only two of them need another one first.")
    for piece in PIECES:
        for one in _play_piece(piece, random):
            yield one
    yield planner_ends(summary="All pieces but the search have landed.")
    yield judges()


def _play_piece(piece: Piece, random: Random) -> Iterator[ScriptedReply]:
    function, module = piece.function, _get_module(piece)
    yield _paced(uses("worker", piece.key, "read", path="shop/money.py"), random, "Let me see how amounts are kept.")
    if piece.key == ASKING:
        asks = uses("worker", piece.key, "request_tier", tier=2, reason="the tax rates are published as a package")
        yield _paced(asks, random, "The rates are in a package.")
    text = f'"""{piece.title}."""\n\n\ndef {function}(amount):\n'
    text += '    """Return the amount in cents."""\n    return amount\n'
    yield _paced(writes(piece.key, module, text), random, f"{function}() goes into a module of its own.")
    yield _paced(writes(piece.key, _get_test(piece), _write_test(piece, "100")), random, "Now its test.")
    yield _paced(uses("worker", piece.key, "shell", command=f"python3 -m unittest {_get_test_name(piece)}"), random)
    yield _paced(worker_ends(piece.key, f"{function}() and its test are written"), random)
    if piece.key in {SENT_BACK, FAILING}:
        yield _paced(reviews(piece.key, "revise", "it does not say what happens to an amount below zero"), random)
        text = text.replace("return amount", "return max(amount, 0)")
        yield _paced(writes(piece.key, module, text), random, "An amount below zero becomes zero.")
        yield _paced(worker_ends(piece.key, "amounts below zero are handled"), random)
    if piece.key == FAILING:
        yield _paced(reviews(piece.key, "revise", "words of one letter are still found everywhere"), random)
    else:
        yield _paced(reviews(piece.key), random, "The function does what the outcome says, and its test shows it.")


def _paced(item: ScriptedReply, random: Random, text: str = "") -> ScriptedReply:
    """Return a reply with a delay, tokens and a price, as those of a real model."""
    usage = ScriptedUsage(input=random.randint(1_500, 9_000), output=random.randint(80, 900))
    changes = {"delay_s": round(random.uniform(0.6, 2.2), 2), "usage": usage, "text": text or item.text}
    return item.model_copy(update={**changes, "cost_usd": Decimal(usage.output * 15 + usage.input * 3) / 1_000_000})


def _get_module(piece: Piece) -> str:
    return f"shop/{piece.key.replace('-', '_')}.py"


def _get_test(piece: Piece) -> str:
    return f"tests/test_{piece.key.replace('-', '_')}.py"


def _get_test_name(piece: Piece) -> str:
    return _get_test(piece).removesuffix(".py").replace("/", ".")


def _write_test(piece: Piece, amount: str) -> str:
    name = piece.key.replace("-", "_")
    return (
        f"import unittest\n\nfrom shop.{name} import {piece.function}\n\n\n"
        f"class {piece.function.title().replace('_', '')}Test(unittest.TestCase):\n"
        f"    def test_an_amount_is_kept(self):\n        self.assertEqual({piece.function}({amount}), {amount})\n"
    )


def run_story(root: Path) -> RunExit:
    """Run it below `root`, which must not exist; somebody answers the question after some seconds."""
    root = root.resolve()
    root.mkdir(parents=True)
    repository, state = shop(root), root / "state"
    write_script(root / "models.json", play_story())
    chdir(root)  # so that the name of the model tells no path
    model = {"model": "scripted:models.json"}
    settings = {
        "gate": GATE_FLAGS,
        "roles": {"planner": model, "worker": model, "judge": model},
        "state": {"dir": str(state)},
        "run": {"max_workers": 10, "max_attempts": 2},
        "budget": {"usd": 2.5, "tokens": 600_000, "wall_s": 120.0},
    }

    def answer_soon(recorded: object) -> None:
        event = getattr(recorded, "event", None)
        if isinstance(event, ApprovalRequested):
            Thread(target=_answer, args=(repository, state, event.approval.item), daemon=True).start()

    return anyio.run(run_goal, Options(repository, settings), GOAL, Hears(answer_soon))


def _answer(repository: Path, state: Path, item: str) -> None:
    time.sleep(ANSWER_S)
    CliRunner().invoke(cli, ["approve", "--repo", str(repository), "--state", str(state), "latest", item])


if __name__ == "__main__":
    sys.exit(run_story(Path(sys.argv[1])).exit_code)
