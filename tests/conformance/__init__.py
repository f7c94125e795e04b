"""The protocol's own rules and its official suite, and what proves that both are kept."""
