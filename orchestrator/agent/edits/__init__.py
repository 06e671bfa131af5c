"""The edit tool's work: find a quoted text by ever looser matchers, and replace it or refuse."""
