"""For which releases of jax, flax, optax and numpy is the result?"""
