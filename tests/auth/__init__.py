"""Who may do what: tokens, OAuth, scopes, owners."""
