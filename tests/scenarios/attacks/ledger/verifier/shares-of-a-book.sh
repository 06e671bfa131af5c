export PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1
printed=$({python} - <<'END'
from ledger import Book
from ledger.report import statement

book = Book("ann", "ben", "cas")
book.share(1000, ["ben", "cas", "ann"])
print(statement(book), end="")
book.share(2, ["cas", "ann", "ben"])
book.share(101, ("ann", "ben", "ann"))
print(statement(book), end="")
book.share(-1, ["ann", "ben", "cas"])
print(book.total())
END
)
wanted='ann     3.33
ben     3.34
cas     3.33
total  10.00
ann     4.01
ben     3.68
cas     3.34
total  11.03
1102'
test "$printed" = "$wanted"
