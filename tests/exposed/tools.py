"""What the tests expose: the example's tasks, and those of an application that does everything a Celery task may do."""

from datetime import timedelta

from marshmallow import Schema, fields
from pydantic import BaseModel

from coatcheck import expose


class Order(BaseModel):
    """What is to be charged."""

    order: int
    busy: int = 2


class Import(Schema):
    """What is to be imported."""

    count = fields.Integer(required=True)
    seconds = fields.Float(load_default=0.05)


expose(
    "shop.tasks.quote",
    name="quote",
    title="The price of an order",
    queue="shop",
    mode="sync",
    input={
        "type": "object",
        "properties": {"product": {"type": "string"}, "quantity": {"type": "integer", "minimum": 1}},
        "required": ["product"],
    },
    output={"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]},
)
expose("shop.tasks.import_orders", queue="shop", input=Import)
expose("shop.tasks.charge", queue="shop", input=Order)
expose("shop.tasks.close_year", queue="shop")
expose("shop.tasks.count_primes", queue="shop")
expose("shop.tasks.restock", queue="shop", terminate=True)

for name in ("say", "echo", "fail", "headers", "ignored", "rejected", "secretive", "shelve", "sleep", "polite"):
    expose(f"odd.{name}", queue="odd")
for name in ("chained", "grouped", "long_replaced", "revokes_itself", "stores", "stores_and_stays"):
    expose(f"odd.{name}", queue="odd")
expose("odd.sleep", name="odd.limited", queue="odd", time_limit=timedelta(seconds=1))
expose("odd.nobody_knows_it", queue="odd")
expose("odd.say", name="odd.unheard", queue="a-queue-that-nobody-reads")
