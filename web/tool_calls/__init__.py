"""What becomes of a `tools/call`, for all protocol revisions: inputs first, the job, the wait for it."""
