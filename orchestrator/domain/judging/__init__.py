"""What a verdict rests on: checks and their receipts, test symptoms, checks of the forge, reviews, verdicts."""
