"""Traces and metrics of runs for collectors that speak OTLP: built of recorded events, sent beside the engine."""
