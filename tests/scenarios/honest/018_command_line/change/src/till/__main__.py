"""`python -m till`."""

import sys

from till.cli import main

sys.exit(main())
