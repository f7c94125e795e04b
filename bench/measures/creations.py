"""How many tasks a second can be created, while no worker takes them."""

from bench import wire
from bench.context import Bench
from bench.servers import BARE, running

CREATIONS = "creations"


def measure(bench: Bench) -> None:
    """Calls of a tool without arguments; the ceiling is one `apply_async`."""
    doors = [bench.coatcheck(), *bench.peers()]
    sides = [bench.bare(), *doors]
    with running(*sides):
        calls = {side.name: [wire.call("noop")] for side in doors}
        bench.rates(CREATIONS, sides, {BARE: [wire.post("/send")], **calls})
