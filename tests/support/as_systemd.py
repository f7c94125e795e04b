"""Starts a Python module with an inherited socket, as systemd hands it over: `python -m … SOCKET MODULE ARGUMENTS`."""

import os
import sys

if __name__ == "__main__":
    socket, *command = sys.argv[1:]
    os.dup2(int(socket), 3)
    os.environ |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
    os.execv(sys.executable, [sys.executable, "-m", *command])
