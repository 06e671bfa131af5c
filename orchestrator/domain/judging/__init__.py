"""Verdicts and their evidence: checks with receipts, test symptoms, checks of the forge, reviews."""
