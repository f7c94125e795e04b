"""A CSV table summarised, once a person has approved the outline."""

from coatcheck.workers.tools.report.tool import generate_report

__all__ = ["generate_report"]
