"""The bundled tools, which are the default of `COATCHECK_TOOLS`."""

from coatcheck.workers.tools.companions import list_samples, plan_meeting
from coatcheck.workers.tools.report import generate_report

__all__ = ["generate_report", "list_samples", "plan_meeting"]
