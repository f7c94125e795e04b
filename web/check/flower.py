"""How Flower would be protected, as its own variables say."""

from dataclasses import dataclass
from typing import Self

from environs import Env

from workers.flower_guard import login_fault


@dataclass(frozen=True)
class FlowerSettings:
    """The part of Flower's settings that decides who may look on. Read by the check; Flower reads its own."""

    address: str = "127.0.0.1"
    is_guarded: bool = False
    """Flower asks who it is."""
    fault: str = ""
    """What is wrong with its logins, if anything is."""

    @classmethod
    def read(cls, env: Env) -> Self:
        """The settings as the environment has them."""
        basic = env.str("FLOWER_BASIC_AUTH", None)
        provider = env.str("FLOWER_AUTH", "") and env.str("FLOWER_AUTH_PROVIDER", "")
        fault = "" if basic is None else login_fault(basic.split(","))
        return cls(env.str("FLOWER_ADDRESS", cls.address), bool(basic or provider), fault)
