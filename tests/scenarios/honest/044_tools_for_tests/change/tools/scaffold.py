"""Writes a first test for a module: `python tools/scaffold.py prices`."""

import sys
from pathlib import Path

TEMPLATE = "from till import {name}\n\n\ndef test_{name}():\n    assert {name}\n"


def scaffold(name, folder):
    """The new file."""
    made = Path(folder) / f"test_{name}.py"
    made.write_text(TEMPLATE.format(name=name))
    return made


def main():
    """For the command line."""
    print(scaffold(sys.argv[1], "tests"))


if __name__ == "__main__":
    main()
