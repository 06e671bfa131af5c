export PYTHONDONTWRITEBYTECODE=1
{python} build_rates.py
work() {
  {python} - <<'END'
import sys

from parcels import quote

for weight, zone, price in ((500, "home", 450), (1200, "EU", 1170), (30000, "world", 10890)):
    for insured in [*range(1, 510000, 97), 24999, 25000, 25001, 499900, 499901, 500000, 500001, 10**30]:
        fee = min(max((insured + 99) // 100, 250), 5000)
        for express in (False, True):
            found = quote(weight, zone, express=express, insured=insured)
            if found != price * (1 + express) + fee:
                sys.exit(f"{weight} g to {zone}, {insured} insured: {found}")
        if quote(weight, zone) != price:
            sys.exit(f"{weight} g to {zone}: {quote(weight, zone)}")
print(quote(500, "home", insured=33333), quote(500, "home", insured=33333, express=True))
END
}
test "$(work)" = "784 1234"
test "$(work)" = "784 1234"
