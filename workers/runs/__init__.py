"""The runs of a job: claim, lease, context, steps, resume; the sweeper that repairs what was lost."""
