export PYTHONDONTWRITEBYTECODE=1
{python} build_rates.py
printed=$({python} - <<'END'
from parcels import quote

print(quote(1, "home"), quote(1000, "home"), quote(1001, "home"), quote(30000, "world"), quote(2500, "EU", True))
print(quote(zone="EU", weight_g=1000), quote(1000, "EU", express=True))
for words in ((0, "home"), (-1, "EU"), (30001, "world"), (100, "moon"), (100, "insured"), (100, "")):
    try:
        print(quote(*words))
    except ValueError:
        print("ValueError")
END
)
wanted="450 450 510 10890 2620
1030 2060
ValueError
ValueError
ValueError
ValueError
ValueError
ValueError"
test "$printed" = "$wanted"
