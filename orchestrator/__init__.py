"""Orchestrate: one large goal for one git repository, carried to a reviewed pull request."""

import os

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # finding plugins costs more than most verbs do

__version__ = "0.1.0"
