"""Who calls: static tokens, or OAuth access tokens checked against the keys of their issuer."""
