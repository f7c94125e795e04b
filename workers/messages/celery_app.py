"""The Celery application of the platform: names, queues and delivery options."""

from celery import Celery
from kombu import Exchange, Queue

from coatcheck.tasks_store import StoreSettings
from coatcheck.workers.addresses import Address, address_of
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.tool import CELERY_PREFIX

NAMESPACE = "coatcheck"
"""Prefix of the names of our exchanges and keys, so that a broker can be shared."""

ACCEPT = f"{CELERY_PREFIX}accept"
"""The name of the Celery task in the header of a resume chord."""


def create_celery(settings: WorkerSettings, store: StoreSettings, *, reply_seconds: float = 15.0) -> Celery:
    """Return an application that can send; a worker adds the Celery tasks.

    `reply_seconds` limits how long a broker or a result backend on Redis takes to reply.

    Messages are acknowledged before the run, not after it: the record, its lease and the sweeper decide what runs
    again, whatever the broker's visibility timeout. `acks_late` would only add deliveries beside a live run.
    """
    app = Celery(NAMESPACE, set_as_current=False)
    broker = address_of(settings.broker_url)
    results = address_of(settings.result_backend)
    over_redis = {
        "global_keyprefix": settings.broker_prefix,
        "socket_timeout": reply_seconds,
        "socket_connect_timeout": reply_seconds,
        "socket_keepalive": True,
        # The record guarantees the run, and the sweeper resends a lost message. Besides, a worker of Celery 5.7.0
        # ends when Redis becomes unavailable while a message is unacknowledged.
        "ack_emulation": False,
    }
    lead(app, broker, results)
    app.conf.update(
        task_default_queue=settings.queue,
        task_queues=[queue_of_tools(settings)],
        task_create_missing_queue_type=settings.queue_type,
        task_default_exchange=settings.queue,
        task_default_routing_key=settings.queue,
        control_exchange=settings.control_exchange,
        event_exchange=f"{NAMESPACE}.events",
        event_queue_prefix=f"{NAMESPACE}.events",
        broker_transport_options={**(over_redis if broker.is_redis else {}), **broker.options},
        result_backend_transport_options={"global_keyprefix": f"{NAMESPACE}:celery:", **results.options},
        # Celery's default is two minutes.
        redis_socket_timeout=reply_seconds,
        redis_socket_connect_timeout=reply_seconds,
        result_expires=3600,
        task_ignore_result=True,
        task_acks_late=False,
        task_serializer="json",
        result_serializer="json",
        accept_content=["json"],
        # The event would be a second message for each message sent, at more than a third of its cost. Flower shows a
        # run once a worker has it, and the number of waiting messages by queue.
        task_send_sent_event=False,
        worker_send_task_events=True,
        worker_concurrency=settings.concurrency,
        # One message per free process, so that a short job never waits behind a long one in the same worker.
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=broker.is_redis,
        broker_connection_retry_on_startup=True,
        # Retry when Redis refuses commands, because it is full, or read-only after a failover.
        broker_channel_error_retry=True,
        # A redelivered message finds the lease taken, and a cancelled run would lose its work.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_hijack_root_logger=True,
        timezone="UTC",
    )
    if broker.is_tls:
        app.conf.broker_use_ssl = store.tls_options
    if results.is_tls:
        app.conf.redis_backend_use_ssl = store.tls_options
    return app


def queue_of_tools(settings: WorkerSettings) -> Queue:
    """Return the queue of tools without a queue of their own, with the same declaration for all users."""
    exchange = Exchange(settings.queue, type="direct")
    return Queue(
        settings.queue, exchange, routing_key=settings.queue, queue_arguments={"x-queue-type": settings.queue_type}
    )


def lead(app: Celery, broker: Address, results: Address) -> None:
    """Make the application use these servers.

    Celery prefers `CELERY_BROKER_URL` and `CELERY_RESULT_BACKEND` of the environment to its configuration. But it does
    not know our forms of addresses, and exposed tasks can have other servers.
    """
    app.conf.update(
        broker_url=broker.url, broker_read_url=broker.url, broker_write_url=broker.url, result_backend=results.url
    )
    app.backend_cls = results.url
