"""The bundled tools: what `COATCHECK_TOOLS` loads unless it names other modules."""

from coatcheck.workers.tools.companions import list_samples, plan_meeting
from coatcheck.workers.tools.report import generate_report

__all__ = ["generate_report", "list_samples", "plan_meeting"]
