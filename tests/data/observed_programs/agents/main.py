import jax.numpy as jnp

import array_of_one
import chosen
import unreached
from agent import Agent

agent = Agent()
for step in range(3):
    print(agent.train(jnp.arange(3.0)))
print(array_of_one.run(lambda: jnp.ones(3)))
print(chosen.run({"w": jnp.ones(3)}, "adam", print))
print(unreached.run)
