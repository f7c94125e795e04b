"""Authentication of callers: static tokens, or OAuth access tokens verified with the keys of their issuer."""
