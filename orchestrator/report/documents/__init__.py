"""The report of a run as one object, and as HTML, Markdown, JUnit XML, SARIF and CI summary."""
