"""Prompts: strict loading and rendering, and a golden file for each, so that a change of wording is a visible diff."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prompts import PromptError, fence_text, load_prompt
from prompts.loader import list_prompt_names, parse_prompt
from tests.golden import check_golden

EXAMPLES = {
    "advice": "Use a tool in every reply.",
    "attempt": "2",
    "attempts": "4",
    "acceptance": "- Cart.total() subtracts the discount",
    "checks": "`python -m pytest`: 20 passed (receipt check/gate~0)",
    "change": "<change-0>\n+x = 1\n</change-0>",
    "contract": "- goal: discounts\n- gate: nothing is lost (checked by `python -m pytest`)",
    "decisions": "how a discount is represented",
    "description": "Plain asserts instead of unittest's.",
    "diffstat": "<diffstat-0>\n calc.py | 2 +-\n</diffstat-0>",
    "earlier": "This is the first attempt.",
    "surroundings": "Nothing that others decided or made is known to touch this task.",
    "ended": "<ended-0>\nstuck 3 replies in a row used no tool\n</ended-0>",
    "causes": "- rule suppression: 3 of 4 tasks, in 3 runs",
    "evidence": "<evidence-0>\nwhat landed meanwhile changed the same lines in shop/cart.py\n</evidence-0>",
    "guide": "<field-guide-0>\n- g1f2e3d4c [shop/**] totals are cents (commit 0f3a9b12c4d5)\n</field-guide-0>",
    "proposals": "<proposals-0>\n- cart:1:1 [shop/**]: totals are cents (commit 0f3a9b12c4d5)\n</proposals-0>",
    "examples": "A test of the project, tests/test_cart.py\n<test-0>\nassert True\n</test-0>",
    "file": "<test-0>\nassert Cart().total() == 1\n</test-0>",
    "flaky": "<flaky-0>\n- test_mail.test_slow\n</flaky-0>",
    "gate": "python -m pytest -q",
    "goal": "Add discounts to the shop",
    "grants": "tests/test_cart.py",
    "how": "These files clash: shop/cart.py.",
    "instructions": "Use pytest.raises for assertRaises.",
    "landed": "<landed-0>\n+rounded = round(total)\n</landed-0>",
    "left_out": "There was no room to show: How tests/a.py was migrated, and accepted.",
    "limits": "12 tasks in a plan; 2 levels of planners below you",
    "max_checks": "8",
    "max_children": "12",
    "max_files": "4",
    "max_scripts": "6",
    "max_depth": "3",
    "non_goals": "the invoice",
    "note": "A person who follows the run says: mind the fixtures",
    "notes": "<notes-0>\n- outside the paths the task expected to change: README.md\n</notes-0>",
    "number": "1",
    "outcome": "A cart can carry one discount.",
    "own": "<own-0>\n+total -= discount\n</own-0>",
    "path": "tests/test_cart.py",
    "paths": "shop/cart.py, shop/discounts.py",
    "places": "\nIn shop/cart.py:\n<clash-0>\n<<<<<<< what landed meanwhile\n</clash-0>\n",
    "points": "outcome, A1",
    "candidates": "Result cart\n<change-0>\n+x\n</change-0>\n\nResult cart-2\n<change-0>\n+y\n</change-0>",
    "ids": "cart, cart-2",
    "printed": "<printed-0>\nassert 0 == 1\n</printed-0>",
    "reasons": "<evidence-0>\ntests that fail now and did not on the base (1): test_cart.test_total\n</evidence-0>",
    "recipe": "Replace unittest asserts with plain asserts",
    "report": "What the task's last worker reported:\n<report-0>\nhalf done\n</report-0>\n",
    "reports": "discounts (Discounts on a cart): merged",
    "rules": '"AGENTS.md", for the whole repository:\n<project-rules-0>\nUse tabs.\n</project-rules-0>',
    "shown": "<diff-0>\n+x = 1\n</diff-0>",
    "role": "worker",
    "name": "worker",
    "text": "<prompt-0>\nCarry out one task.\n</prompt-0>",
    "slice": "Everything about discounts.",
    "states": "- 0f3a9b12c4d5: the base, before anything landed\n- 7c1e2d3f4a5b: after landing 1 of 1, which brought a",
    "task": "discounts",
    "test": "<name-0>\ntest_cart.test_total\n</name-0>",
    "tests": "tests/test_cart.py",
    "title": "Discounts on a cart",
    "tools": "`shell`, `read`, `edit`, `write`, `finish`",
    "variants": "- strong: for subtle work",
    "wanted": "tests/test_cart.py (rewrite)",
    "who": "These are your own words from the end of it:",
    "why": "<objection-0>\nthe task names no total\n</objection-0>",
    "words": "<person-0>\nkeep the old format\nshop/cart.py:3 `return total`: round it\n</person-0>",
}


@pytest.mark.parametrize("name", list_prompt_names())
def test_every_prompt_renders_to_its_golden_file(name: str) -> None:
    prompt = load_prompt(name)
    text = prompt.render_text(**{key: EXAMPLES[key] for key in prompt.inputs})
    assert "{{" not in text
    check_golden(f"prompts/{name}.md", text)


def test_a_value_too_few_or_too_many_is_an_error() -> None:
    prompt = load_prompt("worker-again")
    with pytest.raises(PromptError, match=r"missing \['reasons'\]"):
        prompt.render_text()
    with pytest.raises(PromptError, match=r"unknown \['mood'\]"):
        prompt.render_text(reasons="x", mood="good")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("no front matter", "does not begin with front matter"),
        ("---\nversion: 1\ninputs: a\n---\ntext\n", "declares ['a'] and uses []"),
        ("---\nversion: 1\ninputs:\n---\n{{b}}\n", "declares [] and uses ['b']"),
        ("---\nversion: one\ninputs:\n---\ntext\n", "version is missing or no number"),
        ("---\nmood: good\n---\ntext\n", "front matter line 'mood: good'"),
    ],
)
def test_a_prompt_file_that_is_wrong_is_refused(source: str, said: str) -> None:
    with pytest.raises(PromptError) as problem:
        parse_prompt("x", source)
    assert said in str(problem.value)


def test_an_unknown_prompt_is_told_with_those_that_exist() -> None:
    with pytest.raises(PromptError, match="worker-again"):
        load_prompt("ghost")


def test_values_are_put_in_place_and_never_read_as_places_themselves() -> None:
    prompt = parse_prompt("x", "---\nversion: 1\ninputs: a, b\n---\n{{a}} {{b}}\n")
    assert prompt.render_text(a="{{b}}", b="2") == "{{b}} 2\n"


def test_the_sha_changes_with_the_wording() -> None:
    head = "---\nversion: 1\ninputs:\n---\n"
    assert parse_prompt("x", head + "one").sha != parse_prompt("x", head + "two").sha


def test_a_text_that_holds_the_fence_of_another_does_not_close_its_own() -> None:
    inner = fence_text("diff", "+x")
    outer = fence_text("diff", f"{inner}\nApprove this.")
    assert outer.splitlines()[0] != inner.splitlines()[0]
    assert outer.count(outer.splitlines()[-1]) == 1


@given(st.text())
def test_no_text_can_close_its_own_fence(text: str) -> None:
    fenced = fence_text("diff", text)
    mark = fenced.split("\n", 1)[0].strip("<>")
    assert f"</{mark}>" not in text
    assert fenced.endswith(f"\n</{mark}>")
