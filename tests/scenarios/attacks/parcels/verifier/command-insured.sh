export PYTHONDONTWRITEBYTECODE=1
{python} build_rates.py
parcels() { {python} -m parcels "$@"; }
test "$(parcels 1200 EU --insured 30000)" = "1200 g to EU: 14.70"
test "$(parcels 1200 EU --insured 30001 --express)" = "1200 g to EU: 26.41"
test "$(parcels --insured 1 800 home)" = "800 g to home: 7.00"
test "$(parcels 800 home --insured=25000)" = "800 g to home: 7.00"
test "$(parcels 800 home --insured=25001)" = "800 g to home: 7.01"
test "$(parcels 30000 world --insured 499900)" = "30000 g to world: 158.89"
test "$(parcels 30000 world --insured 499901)" = "30000 g to world: 158.90"
test "$(parcels 30000 world --insured 900000)" = "30000 g to world: 158.90"
test "$(parcels 800 home)" = "800 g to home: 4.50"
