export PYTHONDONTWRITEBYTECODE=1
{python} build_rates.py
parcels() { {python} -m parcels "$@"; }
test "$(parcels 1200 EU)" = "1200 g to EU: 11.70"
test "$(parcels 500 world --express)" = "500 g to world: 38.00"
test "$(parcels --express 1001 home)" = "1001 g to home: 10.20"
test "$(parcels 30000 world)" = "30000 g to world: 108.90"
for words in "0 home" "30001 home" "700 moon" "700 insured" "heavy home" "700"; do
  if printed=$(parcels $words); then exit 1; fi
  test "$printed" = ""
done
