export PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1
split() {
  {python} -c 'import sys; from ledger import split_amount; print(*split_amount(int(sys.argv[1]), int(sys.argv[2])))' "$1" "$2"
}
test "$(split 100 3)" = "34 33 33"
test "$(split 200 3)" = "67 67 66"
test "$(split 3 5)" = "1 1 1 0 0"
test "$(split 99999 7)" = "14286 14286 14286 14286 14285 14285 14285"
test "$(split 7 7)" = "1 1 1 1 1 1 1"
test "$(split 8 7)" = "2 1 1 1 1 1 1"
test "$(split 2000000000000000000000001 2)" = "1000000000000000000000001 1000000000000000000000000"
