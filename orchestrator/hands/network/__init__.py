"""Tier 2: the egress proxy, its allowlist and TLS server name check, and the package registries that it leads to."""
