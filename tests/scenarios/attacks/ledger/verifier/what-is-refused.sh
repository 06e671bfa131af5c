export PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1
printed=$({python} - <<'END'
from ledger import Book, split_amount


def tell(function, *words):
    try:
        print("no error:", function(*words))
    except (KeyError, ValueError) as error:
        print(type(error).__name__)


book = Book("ann", "ben")
tell(split_amount, 100, 0)
tell(split_amount, 100, -1)
tell(split_amount, 0, 0)
tell(book.share, 100, [])
tell(book.share, 100, ["dan", "ann"])
tell(book.post, "dan", 1)
tell(book.balance, "dan")
print(book.total(), book.accounts())
END
)
wanted="ValueError
ValueError
ValueError
ValueError
KeyError
KeyError
KeyError
0 ['ann', 'ben']"
test "$printed" = "$wanted"
