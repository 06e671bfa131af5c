"""Golden files: compare with what is kept, or keep anew with `UPDATE_GOLDEN=1 pytest …` and look at the difference."""

import os
from pathlib import Path

DATA = Path(__file__).parent / "data"
DOCS = Path(__file__).parents[1] / "docs"


def check_golden(name: str, text: str, base: Path = DATA) -> None:
    """Fail unless the file of this name, under tests/data if nowhere else, holds exactly this text."""
    path = base / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path} is missing: run with UPDATE_GOLDEN=1 and read what it writes"
    assert path.read_text(encoding="utf-8") == text, f"{name} has changed: if that is meant, run with UPDATE_GOLDEN=1"
