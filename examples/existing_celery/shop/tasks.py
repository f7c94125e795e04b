"""What the shop does in the background."""

import time

from celery import chord

from shop.celery import app

PRICES = {"tea": 450, "coffee": 690, "cocoa": 520}
"""In cents."""


class OutOfStock(Exception):
    """The warehouse has none."""


class PaymentGatewayBusy(Exception):
    """The bank asked to come back later."""


@app.task
def quote(product, quantity=1):
    """The price of an order."""
    if product not in PRICES:
        raise OutOfStock(f"We have no {product}")
    return {"product": product, "quantity": quantity, "total": PRICES[product] * quantity}


@app.task(bind=True)
def import_orders(self, count, seconds=0.05):
    """Reads orders one by one."""
    for number in range(1, count + 1):
        time.sleep(seconds)
        self.update_state(state="PROGRESS", meta={"current": number, "total": count, "message": f"Order {number}"})
    return {"imported": count}


@app.task(bind=True, max_retries=5, default_retry_delay=0.5)
def charge(self, order, busy=2):
    """Charges a card. The gateway is busy the first few times."""
    if self.request.retries < busy:
        raise self.retry(exc=PaymentGatewayBusy("the gateway is busy"))
    return {"order": order, "tries": self.request.retries + 1}


@app.task
def sales_of(month):
    """The sales of one month, which take a moment to look up."""
    time.sleep(0.2)
    return sum(ord(letter) for letter in month) * 10


@app.task
def add_up(sales, year):
    """The body of the year's chord."""
    return {"year": year, "sales": sum(sales), "months": len(sales)}


@app.task(bind=True)
def close_year(self, year):
    """Hands over to a chord: the months side by side, then their sum."""
    months = [sales_of.s(f"{year}-{month:02}") for month in range(1, 13)]
    raise self.replace(chord(months, add_up.s(year)))


@app.task
def count_primes(limit):
    """Computes for a while without looking up."""
    sieve = bytearray([1]) * limit
    for number in range(2, int(limit**0.5) + 1):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, limit, number)))
    return sum(sieve[2:])


@app.task
def restock(seconds=60):
    """Waits for the warehouse, and cannot be talked to meanwhile."""
    time.sleep(seconds)
    return "restocked"
