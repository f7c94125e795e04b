"""`python -m bench`: measures, and writes RESULTS.md and results.png when everything was measured at full length."""

import argparse
import resource
import time
from collections.abc import Callable, Mapping

from bench import peer, plot, report
from bench.context import QUICK, Bench, Plan
from bench.goals import COMPARED, goals
from bench.measures import creations, inputs, latency, memory, polls, scale, start, streams, throughput, waiting
from tests.support.valkey import Valkey

MEASURES: Mapping[str, Callable[[Bench], None]] = {
    "start": start.measure,
    "polls": polls.measure,
    "latency": latency.measure,
    "creations": creations.measure,
    "throughput": throughput.measure,
    "inputs": inputs.measure,
    "memory": memory.measure,
    "scale": scale.measure,
    "streams": streams.measure,
    "waiting": waiting.measure,
}


def main() -> None:
    """What was asked for has been measured and printed."""
    options = _options()
    begun = time.monotonic()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # the usual 1024 are too few for all who wait
    python = None if options.without_peer else peer.install()
    # As the embedded server of `make run`: durable, one second behind the disk.
    with Valkey(appendonly="yes", appendfsync="everysec", maxmemory_policy="noeviction") as valkey:
        bench = Bench(QUICK if options.quick else Plan(), valkey, valkey.client(), python)
        for name in options.measures or MEASURES:
            print(f"\n{name}", flush=True)
            MEASURES[name](bench)
            bench.redis.flushall()
        print("", *report.goal_lines(goals(bench.figures, bench.plan)), sep="\n")
        if not (options.quick or options.measures or options.without_peer):
            report.write(bench, (time.monotonic() - begun) / 60)
            plot.draw(bench.figures, COMPARED)
            print(f"\nWritten to {report.PAGE} and {plot.PICTURE}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description="Coatcheck beside its ceilings and a peer.")
    parser.add_argument("measures", nargs="*", metavar="MEASURE", choices=[*MEASURES, []], help=", ".join(MEASURES))
    parser.add_argument("--quick", action="store_true", help="whether it works, not how fast it is; writes nothing")
    parser.add_argument("--without-peer", action="store_true", help="Coatcheck and the ceilings only; writes nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
