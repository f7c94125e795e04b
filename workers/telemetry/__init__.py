"""Logs, traces, metrics and Flower, for operators."""
