"""Authorization, rate limits and quotas."""
