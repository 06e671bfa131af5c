"""Connections between brain and hosts, on Dask `distributed` with mutual TLS."""
