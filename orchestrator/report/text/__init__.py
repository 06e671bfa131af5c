"""How prices, sizes, Markdown and HTML are written, whatever document they stand in."""
