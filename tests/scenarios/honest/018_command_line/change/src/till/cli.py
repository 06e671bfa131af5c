"""The command line."""

import argparse
import sys

from till.prices import total


def main(words=None):
    """Print the sum of the prices."""
    parser = argparse.ArgumentParser(prog="till")
    parser.add_argument("price", nargs="*", type=int)
    given = parser.parse_args(words)
    if not given.price:
        print("nothing to add up", file=sys.stderr)
        return 2
    print(total(given.price))
    return 0


if __name__ == "__main__":
    sys.exit(main())
