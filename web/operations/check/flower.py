"""How Flower is protected, by its own variables."""

from dataclasses import dataclass
from typing import Self

from environs import Env

from coatcheck.workers.telemetry.flower_guard import login_fault
from coatcheck.workers.telemetry.flower_settings import flower_faults


@dataclass(frozen=True)
class FlowerSettings:
    """The settings of Flower that control access. Read by the check; Flower reads its own."""

    address: str = "127.0.0.1"
    is_guarded: bool = False
    """Flower requires a login."""
    faults: str = ""
    """What prevents Flower from starting."""

    @classmethod
    def read(cls, env: Env) -> Self:
        """Read the settings from the environment."""
        basic = env.str("FLOWER_BASIC_AUTH", None)
        provider = env.str("FLOWER_AUTH", "") and env.str("FLOWER_AUTH_PROVIDER", "")
        faults = [flower_faults(), "" if basic is None else login_fault(basic.split(","))]
        said = "\n".join(fault for fault in faults if fault)
        return cls(env.str("FLOWER_ADDRESS", cls.address), bool(basic or provider), said)
