"""What is exposed here, compared with what their workers say."""

import pytest

from coatcheck.workers.messages.agreement import Worker, disagreements, unseen_result
from coatcheck.workers.toolkit.tool import Exposed

WORK = Exposed("shop.quote", "shop")
OURS = "redis://:pw@results:6379/0"


def worker(name: str = "shop@here", **changes: object) -> Worker:
    """Return a worker with which all is well, but for these changes of its settings."""
    conf = {"result_backend": "redis://:********@results:6379/0", "accept_content": ["json"], **changes}
    return Worker(name, {"shop"}, {"shop.quote"}, conf)


def told(
    works: list[Exposed], workers: list[Worker], url: str = OURS, options: object = None
) -> list[tuple[str, bool]]:
    """Return what is found."""
    return list(disagreements(works, workers, url, options))


def test_where_all_is_well_nothing_is_told() -> None:
    """K3.5."""
    assert told([WORK], [worker(), Worker("other@here", {"else"}, set(), {})]) == []
    assert unseen_result(WORK, [worker()], OURS, None) == ""


def test_a_name_that_no_worker_knows_and_a_queue_that_nobody_listens_to_are_told() -> None:
    """K3.5."""
    [(unknown, is_certain)] = told([Exposed("shop.quot", "shop")], [worker()])
    assert is_certain
    assert "shop@here" in unknown
    assert "shop.quot" in unknown
    [(unheard, _)] = told([Exposed("shop.quote", "shops")], [worker()])
    assert "the queue shops" in unheard


@pytest.mark.parametrize(
    ("theirs", "ours", "is_certain"),
    [
        ("redis://results:6379/1", "redis://results:6379/0", True),
        ("redis://results:6380/0", "redis://results:6379/0", True),
        ("redis://results/", "redis://results:6379/0", None),
        ("rediss://user:********@results:6379/0", "rediss://user:pw@results:6379/0", None),
        ("redis://10.0.0.7:6379/0", "redis://results:6379/0", False),
        ("redis://10.0.0.7:6379/1", "redis://results:6379/0", True),
        ("redis+socket:///run/a.sock", "unix:///run/a.sock?db=0", None),
        ("redis+socket:///run/b.sock", "unix:///run/a.sock", True),
        ("redis+socket:///run/b.sock", "redis://results:6379/0", False),
        ("sentinel://:********@a:1/0;sentinel://b:1/0", "redis+sentinel://a:1,b:1/service/0", None),
        ("sentinel://:********@a:1/1", "redis+sentinel://a:1,b:1/service/0", True),
        ("db+postgresql://results/shop", "redis://results:6379/0", True),
        ("disabled:///", "redis://results:6379/0", True),
        ("rpc:///", "redis://results:6379/0", True),
        (None, "redis://results:6379/0", True),
    ],
)
def test_results_that_are_left_elsewhere_are_told(theirs: str | None, ours: str, is_certain: bool | None) -> None:
    """K3.5: as certain as names allow; nothing where they are the same."""
    found = told([WORK], [worker(result_backend=theirs)], ours)
    assert [certain for _, certain in found] == ([] if is_certain is None else [is_certain])
    assert bool(unseen_result(WORK, [worker(result_backend=theirs)], ours, None)) == (is_certain is not None)
    assert "pw" not in str(found)


def test_a_prefix_and_formats_are_compared_too() -> None:
    """K3.5."""
    prefixed = worker(result_backend_transport_options={"global_keyprefix": "shop:"})
    assert told([WORK], [prefixed], options={"global_keyprefix": "shop:"}) == []
    [(prefix, is_certain)] = told([WORK], [prefixed])
    assert is_certain
    assert "global_keyprefix" in prefix
    [(pickles, _)] = told([WORK], [worker(result_serializer="pickle")])
    assert "result_serializer" in pickles
    [(messages, _)] = told([WORK], [worker(accept_content=["pickle"])])
    assert "accept_content" in messages
