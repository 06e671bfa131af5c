"""Jobs of a CI system that carry one run on between them: whose turn it is, where its state lies, what a job tells."""
