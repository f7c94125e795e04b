"""An application whose tasks do everything that a Celery task may do."""

import json
import os
import time

from celery import Celery, chain, group
from celery.exceptions import Ignore, Reject
from celery.utils.log import get_task_logger
from coatcheck_context import current_task_context

logger = get_task_logger(__name__)

app = Celery("odd", broker=os.environ["BROKER_URL"], backend=os.environ["RESULT_URL"])
app.conf.update(
    task_default_queue="odd",
    task_default_queue_type=os.environ.get("QUEUE_TYPE", "classic"),
    result_serializer=os.environ.get("RESULT_SERIALIZER", "json"),
    accept_content=["json"],
    broker_connection_retry_on_startup=True,
)


class TooWet(Exception):
    """An exception of theirs, which nobody else can import."""


@app.task(name="odd.say")
def say(text="hello"):
    logger.info("said %s", text)
    return text


@app.task(name="odd.echo")
def echo(**arguments):
    return arguments


@app.task(name="odd.fail")
def fail(kind):
    raise {"message": TooWet("it rains"), "mute": TooWet(), "key": KeyError("coat")}[kind]


@app.task(name="odd.ignored")
def ignored():
    raise Ignore


@app.task(name="odd.rejected", acks_late=True)
def rejected():
    raise Reject("no", requeue=False)


@app.task(name="odd.stores", bind=True)
def stores(self, state, meta):
    self.update_state(state=state, meta=json.loads(meta))
    raise Ignore


@app.task(name="odd.stores_and_stays", bind=True)
def stores_and_stays(self, state, meta, seconds=30):
    self.update_state(state=state, meta=json.loads(meta))
    time.sleep(seconds)


@app.task(name="odd.secretive", ignore_result=True)
def secretive():
    return "nobody hears of it"


@app.task(name="odd.shelve", bind=True)
def shelve(self, seconds=30):
    self.update_state(state="SHELVING", meta="box 3")
    time.sleep(seconds)


@app.task(name="odd.sleep")
def sleep(seconds=30, note=""):
    logger.info("begun %s", note)
    time.sleep(seconds)
    logger.info("slept %s", note)
    return "rested"


@app.task(name="odd.polite", bind=True)
def polite(self, seconds=30):
    context = current_task_context()
    end = time.monotonic() + seconds
    context.progress(1, 4, "Listening")
    while time.monotonic() < end:
        context.check_cancelled()
        time.sleep(0.05)
    return "never cancelled"


@app.task(name="odd.add")
def add(x, y):
    return x + y


@app.task(name="odd.chained", bind=True)
def chained(self):
    raise self.replace(chain(add.s(1, 2), add.s(3), add.s(4)))


@app.task(name="odd.grouped", bind=True)
def grouped(self):
    raise self.replace(group(add.s(number, number) for number in range(3)))


@app.task(name="odd.long_replaced", bind=True)
def long_replaced(self, seconds):
    raise self.replace(chain(sleep.si(seconds), add.si(1, 1)))


@app.task(name="odd.revokes_itself", bind=True)
def revokes_itself(self):
    self.app.control.revoke(self.request.id, terminate=True)
    time.sleep(30)


@app.task(name="odd.headers", bind=True)
def headers(self):
    return {name: self.request.get(name) for name in ("coatcheck_task_id", "coatcheck_owner", "traceparent")}
