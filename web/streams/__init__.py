"""Connections to the store, and delivery of task changes to the requests that wait for them."""
