"""Long-run rates of continuing workloads."""
