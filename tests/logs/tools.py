"""Tools that write into the log, each in another way."""

import logging

from celery.utils.log import get_task_logger

from coatcheck import Context, Elicit, tool

logger = logging.getLogger("author")
of_celery = get_task_logger("author.celery")


@tool()
def talk(ctx: Context, secret: str = "") -> str:
    """Says something before and after it has asked."""
    logger.info("spoken by the author")
    of_celery.info("spoken by Celery's logger", extra={"secret": secret})
    print("printed by the author")  # noqa: T201 - as authors do
    ctx.ask("go_on", Elicit("Go on?", {"yes": bool}))
    logger.warning({"event": "spoken as a dictionary", "count": 1})
    return secret


@tool()
def crash(secret: str = "") -> str:
    """Fails with an exception that is nobody's business."""
    raise RuntimeError(f"the secret is {secret}")
