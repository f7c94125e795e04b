"""Run Celery tasks of another application as tools: delegate, watch and settle them."""
