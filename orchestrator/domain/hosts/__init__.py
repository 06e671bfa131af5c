"""Hosts: the machines that carry workspaces of a run, as its journal tells of them."""
