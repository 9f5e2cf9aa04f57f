"""The best list of prompts for a graph, exactly and by several methods."""
