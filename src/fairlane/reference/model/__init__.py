"""The meaning of the model: graphs, requests, instances, states, steps and what they are worth."""
