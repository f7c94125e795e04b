"""What the tests of all layers stand on: real servers, real processes, a small client of the wire."""

from tests.support.waiting import wait_until

__all__ = ["wait_until"]
