# The image holds Coatcheck; the folder /app is for tools of yours: examples/container/ shows how.
FROM python:3.13-slim

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

RUN useradd --create-home --uid 10001 coatcheck

# Before the code, so that a change of the code does not install everything again.
COPY requirements.txt /tmp/
RUN pip install --require-hashes --requirement /tmp/requirements.txt

COPY . /usr/local/src/coatcheck
RUN pip install --no-deps /usr/local/src/coatcheck && rm -rf /usr/local/src/coatcheck

WORKDIR /app
USER coatcheck

# Of the web; docker-compose.yml has one for each of the other processes.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=6 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ.get(\"PORT\", 8000)}/healthz', timeout=3)"]

# The other processes are started from the same image: coatcheck worker, coatcheck flower.
CMD ["coatcheck", "web"]
