"""Tool calls of all revisions: first inputs, the job, and the wait for it."""
