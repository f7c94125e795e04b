"""What the operator sees of the work in Flower, in a real browser."""

import re
from concurrent.futures import ThreadPoolExecutor

from coatcheck.tasks_store import ANONYMOUS
from tests.e2e.browser import details, page, table
from tests.e2e.checkout import Checkout
from tests.support.waiting import wait_until

MARKER = "only_for_the_report"
"""A word of an argument, which no page may show."""
COMMENT = "only_for_the_tool"
"""A word of an answer, which no page may show either."""

RUN = "coatcheck.generate_report"


def test_run_and_resume_stand_under_the_tools_name_without_argument_and_answer(checkout: Checkout) -> None:
    with checkout.client() as client:
        task_id = client.start("generate_report", {"source": f"{MARKER},n\n1,2\n3,4\n"})
        client.wait_for(task_id, "input_required")
        content = {"approved": True, "comment": COMMENT}
        client.update(task_id, {"approve_outline": {"action": "accept", "content": content}})
        result = client.wait_for(task_id)["result"]
        assert MARKER in str(result)
        assert COMMENT in str(result)

    def shown() -> str | None:
        """The page of all Celery tasks, once it has both runs as ended."""
        document = page(f"{checkout.flower_url}/tasks")
        runs = {uuid.split()[0]: (name, state, told) for name, uuid, state, told, *_ in table(document)}
        both = {
            f"{task_id}.1": (RUN, "SUCCESS", "'parked: approve_outline'"),
            f"{task_id}.2": (RUN, "SUCCESS", "'completed'"),
        }
        return document if both.items() <= runs.items() else None

    overview = wait_until(shown, 60.0, "both runs on Flower's page")
    assert overview is not None

    addresses = [f"{checkout.flower_url}/task/{task_id}.{number}" for number in (1, 2)]
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(page, addresses)
    for document in (first, second):
        shown_of_run = details(document)
        assert shown_of_run["Name"] == RUN
        assert re.findall(r"\w+", shown_of_run["Arguments"]) == [task_id]
        assert shown_of_run["Keyword arguments"] == f"{{'owner': '{ANONYMOUS.tag}'}}"
    for document in (overview, first, second):
        assert MARKER not in document
        assert COMMENT not in document
