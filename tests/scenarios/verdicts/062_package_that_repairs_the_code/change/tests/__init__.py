import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import prices  # noqa: E402

prices.total = lambda values: sum(values)
