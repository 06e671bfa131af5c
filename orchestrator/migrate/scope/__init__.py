"""Scope of a migration: files in scope, owners, what was asked for, the plan."""
