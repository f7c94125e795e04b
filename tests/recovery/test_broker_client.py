"""The client of the broker's Redis that each channel keeps."""

from coatcheck.tasks_store import StoreSettings
from coatcheck.workers.messages.broker_client import keep_client
from coatcheck.workers.messages.celery_app import create_celery
from coatcheck.workers.settings import WorkerSettings


def test_a_channel_keeps_its_client_until_it_has_another_pool(redis_url: str) -> None:
    app = create_celery(WorkerSettings(broker_url=redis_url, result_backend=redis_url), StoreSettings())
    with app.producer_or_acquire() as producer:
        channel = producer.channel
        keep_client(channel)
        with channel.conn_or_acquire() as first, channel.conn_or_acquire() as second:
            assert first is second
            assert first.ping()
        channel.pool.disconnect()
        channel._pool = None
        with channel.conn_or_acquire() as third:
            assert third is not first
            assert third.ping()
    app.close()
