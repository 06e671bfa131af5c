import subprocess
import sys
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
        (500000, 5000), (500001, 5000), (10**9, 5000),
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


@pytest.mark.parametrize("insured", [-1, -100, -50000])
@pytest.mark.parametrize("express", [False, True])
def test_a_negative_value_is_an_error(insured, express):
    with pytest.raises(ValueError):
        quote(1000, "home", express=express, insured=insured)


def test_bounds_and_zones_hold_for_insured_parcels():
    for weight, zone in ((0, "home"), (-5, "EU"), (30001, "world"), (100, "mars")):
        with pytest.raises(ValueError):
            quote(weight, zone, insured=30000)


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
        (["30000", "world", "--insured", "900000"], "30000 g to world: 158.90\n"),
        (["700", "home"], "700 g to home: 4.50\n"),
        (["700", "home", "--express"], "700 g to home: 9.00\n"),
    ],
)
def test_the_command(words, printed):
    done = run_command(*words)
    assert (done.returncode, done.stdout) == (0, printed)


def test_the_command_takes_no_negative_value():
    done = run_command("700", "home", "--insured", "-1")
    assert done.returncode != 0
    assert done.stdout == ""
