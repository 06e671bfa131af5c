"""The policy: rules by which roles are allowed, asked about or denied what they do, and the decision they lead to."""
