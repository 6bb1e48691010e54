"""The genuine ``flax.optim``, made available to the tests as the judge of every number."""
