"""The front door from outside: real sockets, a real gunicorn, a real worker, a real store."""
