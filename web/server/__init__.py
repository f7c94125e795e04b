"""How connections become requests: what gunicorn leaves open to whoever sends slowly."""
