"""Start the whole platform on one machine: Redis, then the processes of the Procfile."""
