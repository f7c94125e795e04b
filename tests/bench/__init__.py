"""What the measurements rely on."""
