"""The legacy revisions 2025-11-25, 2025-06-18 and 2025-03-26, served at the same address as the current one.

Everything about legacy revisions is in this folder; only the application imports it.
"""

from coatcheck.web.legacy.handler import LegacyHandler
from coatcheck.web.legacy.revisions import REVISIONS

__all__ = ["REVISIONS", "LegacyHandler"]
