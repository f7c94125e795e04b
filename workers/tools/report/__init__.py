"""Summarise a CSV table after a person has approved the outline."""

from coatcheck.workers.tools.report.tool import generate_report

__all__ = ["generate_report"]
