"""The bundled sample tables, by name."""

from importlib.resources import files

SAMPLES = {
    "sales": "Orders of a tea and coffee wholesaler in 2025",
    "temperatures": "Daily weather at three stations, the first four months of 2025",
    "tickets": "Support tickets of a software company, the second half of 2025",
}
"""The name of each sample, which is the stem of its file, and its description."""


def sample_text(name: str) -> str:
    """Return the CSV text of a sample; `name` must be one of SAMPLES."""
    return files("coatcheck.workers.tools").joinpath("samples", f"{name}.csv").read_text("utf-8")
