"""Widgets that views are made of: tables, long texts, charts. None of them knows a run."""
