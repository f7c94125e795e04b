"""What operators see of the work: logs, traces, metrics, Flower."""
