"""Compare a replay with its recording: requests, decisions, landings and verdicts, and the report on them."""
