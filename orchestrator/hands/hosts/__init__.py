"""Hands on many hosts: workspaces of this machine and of those that joined the run, behind the one interface."""
