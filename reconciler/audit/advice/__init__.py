"""Which rebalances are worth it: what each would gain, and what a merge of them does."""
