"""The runs of a job, from the claim of the lease to the ending, and the sweeper."""
