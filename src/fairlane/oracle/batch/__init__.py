"""Many instances at once, in order, on any executor."""
