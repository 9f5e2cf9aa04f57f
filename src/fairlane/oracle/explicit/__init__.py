"""Models whose states and transitions are listed: files, averages and totals."""
