"""What judging came to over runs: verdicts, causes, and how lenses' votes held."""
