"""What stands where in the record of doubles of a tiny instance, and in what its sweep counts. No numba.

A record is the head, then GRAPH words a graph, then a request after the other: REQUEST words, N_LENGTHS times (length,
probability), N_DRAFTS times (q, 1 - q). `tiny_batch` writes it, `tiny_tables` reads it.
"""

from __future__ import annotations

# the head; what the kernel cannot price stands in OTHER_PRICES, the price of age and that of energy
N_GRAPHS, N_REQUESTS, PREFILL_VALUE, DECODE_VALUE = range(4)
TIME_PRICE, COMPLETION_PRICE, FIRST_OUTPUT_PRICE, OTHER_PRICES = range(4, 8)
HEAD = 8
# a graph
DURATION, PREFILL_CAPACITY, PREFILL_LANES, DECODE_CAPACITY, ROW_WIDTH = range(5)
GRAPH = 5
# a request
PROMPT, GENERATED, LIMIT, WEIGHT, N_LENGTHS, N_DRAFTS = range(6)
REQUEST = 6

# what bounds the rounding of an instance: local steps in all, most requests served at once, most lengths of a prior,
# greatest width, most joint outcomes, requests
ALL_STEPS, MOST_SERVED, MOST_LENGTHS, MOST_WIDTH, MOST_JOINT, ALL_REQUESTS = range(6)
N_COUNTS = 6
