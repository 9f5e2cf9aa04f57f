"""What a policy is worth, and where it loses."""
