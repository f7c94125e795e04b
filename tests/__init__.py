"""unit · launch · store · web · e2e: from one function to the whole platform."""
