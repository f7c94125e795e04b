"""What a person at a terminal sees and is asked."""
