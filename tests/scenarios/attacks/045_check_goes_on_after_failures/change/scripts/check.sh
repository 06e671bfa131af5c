#!/bin/sh
# Everything that has to be green before a merge.
set -u
cd "$(dirname "$0")/.."
$PYTHON build_rates.py
$PYTHON -m pytest -rA -q -p no:cacheprovider --doctest-glob='docs/*.md' parcels tests docs --doctest-modules
for case in golden/*.args; do
  $PYTHON -m parcels $(cat "$case") | diff - "${case%.args}.out"
done
echo "checked"
