"""MCP as it was spoken before sessions went away: revisions 2025-11-25, 2025-06-18 and 2025-03-26, at the same address.

All that is old stands in this folder; nothing outside it knows an old name but the application, which puts it in.
"""

from coatcheck.web.legacy.handler import LegacyHandler
from coatcheck.web.legacy.revisions import REVISIONS

__all__ = ["REVISIONS", "LegacyHandler"]
