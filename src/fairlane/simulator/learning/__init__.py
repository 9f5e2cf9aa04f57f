"""Learning graph timings: estimates from completed executions, and what a dispatcher may do to get better ones."""
