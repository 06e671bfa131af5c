export PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1
printed=$({python} - <<'END'
from ledger import Book, format_amount, parse_amount, split_amount
from ledger.report import statement

print(split_amount(900, 3), split_amount(0, 2), split_amount(55, 1), split_amount(-900, 3))
book = Book("ann", "ben")
book.share(2500, ["ann", "ben"])
print(statement(book), end="")
book.post("ann", -3000)
print(format_amount(book.balance("ann")), parse_amount("-1,000.05"))
END
)
wanted='[300, 300, 300] [0, 0] [55] [-300, -300, -300]
ann    12.50
ben    12.50
total  25.00
-17.50 -100005'
test "$printed" = "$wanted"
