import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from parcels import quote

HERE = Path(__file__).parent.parent
PLAIN = [
    (1, "home", 450), (1000, "home", 450), (1001, "home", 510), (2000, "home", 510), (30000, "home", 2190),
    (1, "EU", 1030), (1999, "EU", 1170), (30000, "EU", 5090), (999, "world", 1900), (4500, "world", 3140),
]  # fmt: skip


def fee_of(insured):
    return min(max(-(-insured // 100), 250), 5000)


@pytest.mark.parametrize(
    ("insured", "fee"),
    [
        (1, 250), (100, 250), (24900, 250), (24901, 250), (25000, 250), (25001, 251), (25099, 251), (25100, 251),
        (25101, 252), (70000, 700), (123456, 1235), (290000, 2900), (499899, 4999), (499900, 4999), (499901, 5000),
        (500000, 5000), (500001, 5000), (10**9, 5000), (2, 250), (99, 250), (101, 250), (25002, 251), (26000, 260),
        (2**61 + 24999, 5000), (10**30, 5000),
    ],
)  # fmt: skip
def test_one_percent_rounded_up_within_bounds(insured, fee):
    assert quote(500, "home", insured=insured) == 450 + fee


def test_every_value_adds_its_fee():
    for insured in range(1, 520000, 37):
        assert quote(1500, "EU", insured=insured) == 1170 + fee_of(insured)


def test_whole_percents_are_not_rounded():
    for fee in range(250, 5001):
        assert quote(100, "world", insured=100 * fee) == 1900 + fee


@pytest.mark.parametrize(("weight", "zone", "price"), PLAIN)
@pytest.mark.parametrize("insured", [5, 33333, 600000])
def test_the_fee_is_the_same_for_all_parcels_and_speeds(weight, zone, price, insured):
    assert quote(weight, zone, insured=insured) == price + fee_of(insured)
    assert quote(weight, zone, express=True, insured=insured) == 2 * price + fee_of(insured)
    assert quote(weight, zone, True, insured=insured) == 2 * price + fee_of(insured)


@pytest.mark.parametrize("insured", [-1, -2, -99, -100, -25000, -50000, -(10**30)])
@pytest.mark.parametrize("express", [False, True])
def test_a_negative_value_is_an_error(insured, express):
    with pytest.raises(ValueError):
        quote(1000, "home", express=express, insured=insured)


def test_bounds_and_zones_hold_for_insured_parcels():
    for weight, zone in ((0, "home"), (-5, "EU"), (30001, "world"), (100, "mars")):
        with pytest.raises(ValueError):
            quote(weight, zone, insured=30000)


def test_bounds_of_the_weight_are_the_same_for_insured_parcels():
    assert quote(1, "home", insured=30000) == 750
    assert quote(30000, "world", insured=30000) == 11190


def test_a_price_is_whole_cents():
    for insured in (1, 100, 25000, 25001, 499999, 500001):
        for express in (False, True):
            assert type(quote(700, "EU", express=express, insured=insured)) is int


def test_quotes_before_make_no_difference():
    for _ in range(300):
        assert quote(1200, "EU") == 1170
        assert quote(1200, "EU", insured=30000) == 1470
        assert quote(1200, "EU", express=True) == 2340
        assert quote(1200, "EU", express=True, insured=30000) == 2640
        assert quote(1200, "EU", insured=30000 + 2**61 - 1) == 6170
        with pytest.raises(ValueError):
            quote(1200, "EU", insured=-30000)
        with pytest.raises(ValueError):
            quote(1200, "moon", insured=30000)


def test_threads_quote_at_the_same_time():
    def prices(insured):
        return [quote(1200, "EU", express=bool(step % 2), insured=insured + step) for step in range(300)]

    with ThreadPoolExecutor(4) as pool:
        for insured, found in zip(range(1, 500000, 50000), pool.map(prices, range(1, 500000, 50000))):
            for step, price in enumerate(found):
                assert price == 1170 * (1 + step % 2) + fee_of(insured + step)


def test_words_by_name_in_any_order():
    assert quote(insured=30000, express=True, zone="EU", weight_g=1200) == 2640


@pytest.mark.parametrize(("weight", "zone", "price"), PLAIN)
def test_without_insurance_prices_are_as_they_were(weight, zone, price):
    assert quote(weight, zone) == price
    assert quote(weight, zone, True) == 2 * price


def run_command(*words):
    return subprocess.run([sys.executable, "-m", "parcels", *words], cwd=HERE, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["1200", "EU", "--insured", "30000"], "1200 g to EU: 14.70\n"),
        (["1200", "EU", "--express", "--insured", "30001"], "1200 g to EU: 26.41\n"),
        (["--insured", "1", "800", "home"], "800 g to home: 7.00\n"),
        (["700", "home", "--insured=24900"], "700 g to home: 7.00\n"),
        (["30000", "world", "--insured", "499901"], "30000 g to world: 158.90\n"),
        (["700", "home", "--insured", "45500", "--express"], "700 g to home: 13.55\n"),
        (["700", "home"], "700 g to home: 4.50\n"),
    ],
)
def test_the_command(words, printed):
    done = run_command(*words)
    assert (done.returncode, done.stdout) == (0, printed)


def test_the_command_takes_no_negative_value():
    for words in (["--insured", "-1"], ["--express", "--insured=-30000"]):
        done = run_command("700", "home", *words)
        assert done.returncode != 0
        assert done.stdout == ""


@pytest.mark.parametrize("words", [["--insured"], ["--insured", "much"]])
def test_the_command_takes_cents_only(words):
    done = run_command("700", "home", *words)
    assert done.returncode != 0
    assert done.stdout == ""


RATES = {"home": (390, 60), "EU": (890, 140), "world": (1590, 310)}


@pytest.mark.parametrize("zone", RATES)
def test_every_weight(zone):
    base, per_kg = RATES[zone]
    for weight in [*range(1, 30000, 13), 999, 1000, 1001, 29000, 29001, 30000]:
        price = base + per_kg * ((weight + 999) // 1000)
        assert quote(weight, zone) == price
        assert quote(weight, zone, True) == 2 * price
        assert quote(weight, zone, express=False) == price


def test_words_by_name():
    assert quote(zone="EU", weight_g=1200) == 1170
    assert quote(express=True, zone="EU", weight_g=1200) == 2340


def test_a_price_without_insurance_is_whole_cents():
    assert type(quote(700, "EU")) is int
    assert type(quote(700, "EU", express=True)) is int


@pytest.mark.parametrize("zone", ["", "eu", "Home", "insured", "insurance", "express", "base", "per_kg", None])
@pytest.mark.parametrize("express", [False, True])
def test_other_zones_are_errors(zone, express):
    with pytest.raises(ValueError):
        quote(1000, zone, express)


@pytest.mark.parametrize("weight", [0, -1, -30000, 30001, 10**9])
@pytest.mark.parametrize("zone", RATES)
@pytest.mark.parametrize("express", [False, True])
def test_weights_that_are_errors(weight, zone, express):
    with pytest.raises(ValueError):
        quote(weight, zone, express)


@pytest.mark.parametrize("words", [["700"], ["heavy", "home"], ["30001", "EU"], ["700", "insured"]])
def test_what_the_command_refuses(words):
    done = run_command(*words)
    assert done.returncode != 0
    assert done.stdout == ""


def test_the_command_prints_the_same_each_time():
    for _ in range(2):
        done = run_command("1001", "world", "--express")
        assert (done.returncode, done.stdout) == (0, "1001 g to world: 44.20\n")
