export PYTHONDONTWRITEBYTECODE=1
{python} build_rates.py
printed=$({python} - <<'END'
from parcels import quote

for insured in (-1, -2, -100, -30000, 1):
    for express in (False, True):
        try:
            print(quote(500, "home", express=express, insured=insured))
        except ValueError:
            print("ValueError")
END
)
wanted="ValueError
ValueError
ValueError
ValueError
ValueError
ValueError
ValueError
ValueError
700
1150"
test "$printed" = "$wanted"
if printed=$({python} -m parcels 700 home --insured=-1); then exit 1; fi
test "$printed" = ""
if printed=$({python} -m parcels 700 home --insured much); then exit 1; fi
test "$printed" = ""
test "$({python} -m parcels 700 home --insured 1)" = "700 g to home: 7.00"
