"""The ticket holder: its ledger, its client, its command, its bridge."""
