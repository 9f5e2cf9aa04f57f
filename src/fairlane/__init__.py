"""fairlane."""
