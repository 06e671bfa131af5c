"""Write parcels/_rates.py from rates.json."""

import json
from pathlib import Path

HERE = Path(__file__).parent


def main():
    rates = json.loads((HERE / "rates.json").read_text())
    text = f"RATES = {rates!r}\n"
    (HERE / "parcels" / "_rates.py").write_text(text)


if __name__ == "__main__":
    main()
