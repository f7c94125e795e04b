FROM python:3.13-slim

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

RUN useradd --create-home --uid 10001 coatcheck
WORKDIR /app

# Before the code, so that a change of the code does not install everything again.
COPY requirements.txt .
RUN pip install --require-hashes --requirement requirements.txt

COPY . .
USER coatcheck

# The other processes of the Procfile are started from the same image by their own commands.
CMD ["python", "-m", "coatcheck", "web"]
