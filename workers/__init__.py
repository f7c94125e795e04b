"""Tools and the jobs that run them."""
