export PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1
work() {
  {python} - <<'END'
import sys

from ledger import Book, split_amount

for parts in (1, 2, 3, 7, 10, 64, 99):
    for total in [*range(1000), 10**18 + 7, 2**61, 2**61 + 1]:
        share, left = divmod(total, parts)
        if split_amount(total, parts) != [share + 1] * left + [share] * (parts - left):
            sys.exit(f"{total} in {parts} parts")
    for total in (-1, -2, -50, -10**18 - 7):
        shares = split_amount(total, parts)
        if len(shares) != parts or sum(shares) != total or max(shares) - min(shares) > 1:
            sys.exit(f"{total} in {parts} parts")
book = Book("ann", "ben", "cas")
for number in range(1000):
    book.share(100, ["ann", "ben", "cas"])
    if book.total() != 100 * (number + 1):
        sys.exit(f"after {number + 1} shares the book holds {book.total()}")
print([book.balance(name) for name in book.accounts()])
END
}
test "$(work)" = "[34000, 33000, 33000]"
test "$(work)" = "[34000, 33000, 33000]"
