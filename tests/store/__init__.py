"""The store against a real server: every transition, every refusal, every outage."""
