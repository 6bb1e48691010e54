"""An optimizer is followed into what threads, pools of them, and the end of a program call."""

from __future__ import annotations

import pytest

from tests.support.followed import FLAX, assert_followed, assert_left
from tests.support.rewriting_texts import rewrite

IMPORTS = (
    "import asyncio\nimport atexit\nimport concurrent.futures\nimport package\nimport threading\n"
    "from concurrent.futures import ThreadPoolExecutor\n"
)
_KEEP = "kept = {}\n\n\ndef keep(name, of, step=0):\n    kept[name] = of\n    return of\n"
_MAKE = "def made(p):\n    return optim.Adam(0.3).create(p)\n"
# A function, and lines by which `x` is what it keeps or returns.
LEADS = {
    "a thread": (
        _KEEP,
        "thread = threading.Thread(target=keep, args=('a', a), kwargs={'step': n})\n"
        "    thread.start()\n    x = kept['a']",
    ),
    "a thread that is given all by name": (
        _KEEP,
        "threading.Thread(target=keep, kwargs=dict(name='a', of=a)).start()\n    x = kept['a']",
    ),
    "arguments of a thread in a variable": (
        _KEEP,
        "args = ['a', a]\n    threading.Thread(None, keep, 'name', args).start()\n"
        "    x = kept['a']",
    ),
    "a timer": (_KEEP, "threading.Timer(1.0, keep, ['a', a]).start()\n    x = kept['a']"),
    "the end of the program": (_KEEP, "atexit.register(keep, 'a', a)\n    x = kept['a']"),
    "another thread that is waited for": (
        _KEEP,
        "x = asyncio.run(asyncio.to_thread(keep, 'a', a))",
    ),
    "a pool": (
        _KEEP,
        "with ThreadPoolExecutor(2) as pool:\n"
        "        x = pool.submit(keep, 'a', of=a, step=n).result()",
    ),
    "a pool in an object": (
        f"{_KEEP}\n\nclass Trainer:\n    def __init__(self):\n"
        "        self.pool = concurrent.futures.ThreadPoolExecutor(max_workers=2)\n\n"
        "    def save(self, of):\n        return self.pool.submit(keep, 'a', of)\n",
        "x = Trainer().save(a).result(timeout=n)",
    ),
    "what a pool maps": (
        _MAKE,
        "with ThreadPoolExecutor() as pool:\n        x, y = pool.map(made, [p, g])",
    ),
    "what is done first": (
        _MAKE,
        "pool = ThreadPoolExecutor()\n    futures = {pool.submit(made, each): each for each in g}\n"
        "    for future in concurrent.futures.as_completed(futures):\n        x = future.result()",
    ),
    "what is kept under a future": (
        _MAKE,
        "pool = ThreadPoolExecutor()\n    futures = {}\n    futures[pool.submit(made, p)] = n\n"
        "    for future, _ in futures.items():\n        pass\n"
        "    for future in futures:\n        x = future.result()",
    ),
    "what is called when it is done": (
        f"{_KEEP}\n\n{_MAKE}",
        "future = ThreadPoolExecutor().submit(made, p)\n"
        "    future.add_done_callback(lambda done: keep('a', done.result()))\n    x = kept['a']",
    ),
}


@pytest.mark.parametrize("name", LEADS)
def test_it_is_followed(name: str) -> None:
    assert_followed(IMPORTS, *LEADS[name])


# What takes it is not read, and lines that give it to that.
LOST = {
    "a thread": (
        "threading.Thread(target=package.keep, args=(a,)).start()",
        "an object that holds an optimizer",
    ),
    "a pool": ("ThreadPoolExecutor().submit(package.keep, a)", "an optimizer"),
    "what a pool maps": (
        "ThreadPoolExecutor().map(package.keep, [a, b])",
        "an object that holds an optimizer",
    ),
    "the end of the program": ("atexit.register(package.keep, a)", "an optimizer"),
}


@pytest.mark.parametrize("name", LOST)
def test_what_calls_a_function_that_is_not_read_holds_it(name: str) -> None:
    lines, given = LOST[name]
    reason = f"may give {given} to package.keep, which may expect an Optimizer."
    assert_left(IMPORTS, "", f"{lines}\n    x = a", reason)


def test_a_pool_of_processes_is_not_followed() -> None:
    program = (
        f"{IMPORTS}{FLAX}{_MAKE}\n\ndef asked(x):\n    return x.target\n\n\ndef f(p):\n"
        "    pool = concurrent.futures.ProcessPoolExecutor()\n"
        "    return pool.submit(made, p).result().target\n"
    )
    left = rewrite(program, "optax")
    assert "# FOC218: `pool.submit` is given code that makes an optimizer" in left
    assert "return optim.Adam(0.3).create(p)" in left and ".result().target\n" in left
