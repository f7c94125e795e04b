"""How much anybody may have at a time."""

from web.limits.addresses import address_of
from web.limits.limits import Limits
from web.limits.settings import LimitSettings

__all__ = ["LimitSettings", "Limits", "address_of"]
