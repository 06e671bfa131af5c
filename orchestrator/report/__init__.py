"""What a run says of itself: results, status, lines, pages."""
