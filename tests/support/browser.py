"""A real Chromium, driven through chromedriver by the W3C WebDriver protocol.

With the standard library alone. Where there is no Chromium, tests that need it are skipped, but
not in CI.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-device-scale-factor=1",
)


class Browser:
    """One session of Chromium."""

    def __init__(self, address: str, folder: str) -> None:
        self._address = address
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": {
                "binary": shutil.which("chromium"),
                "args": [*_SWITCHES, f"--user-data-dir={folder}"],
            },
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        session = self._call("session", {"capabilities": {"alwaysMatch": capabilities}})
        self._session = f"session/{session['sessionId']}"

    def open(self, page: Path) -> None:
        """Show a file; what was logged before is forgotten."""
        self.log("browser")
        self.log("performance")
        self._command("url", {"url": page.resolve().as_uri()})

    def media(self, width: int, height: int, scheme: str = "light", kind: str = "screen") -> None:
        """Show pages in a window of this size, dark or light, on a screen or as printed."""
        self._develop(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._develop("Emulation.setEmulatedMedia", {"media": kind, "features": features})

    def scripts(self, enabled: bool) -> None:
        """Whether pages that are opened from now on may run scripts."""
        self._develop("Emulation.setScriptExecutionDisabled", {"value": not enabled})

    def run(self, script: str, *arguments: Any) -> Any:
        """What JavaScript returns, run as the body of a function with these arguments."""
        return self._command("execute/sync", {"script": script, "args": list(arguments)})

    def texts(self, selector: str) -> list[str]:
        """The text of all elements that a CSS selector finds."""
        script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
        found: list[str] = self.run(script, selector)
        return found

    def click(self, selector: str) -> None:
        """Click on the first element that a CSS selector finds, as a mouse does."""
        self._command(f"element/{self._found(selector)}/click", {})

    def type(self, selector: str, keys: str) -> None:
        """Press keys while the first element that a CSS selector finds has the focus."""
        self._command(f"element/{self._found(selector)}/value", {"text": keys})

    def point_at(self, selector: str, across: int, down: int) -> None:
        """Move the mouse to so many pixels from the middle of an element."""
        origin = {_ELEMENT: self._found(selector)}
        move = {"type": "pointerMove", "duration": 0, "origin": origin, "x": across, "y": down}
        pointer = {"type": "pointer", "id": "mouse", "actions": [move]}
        self._command("actions", {"actions": [pointer]})

    def screenshot(self) -> bytes:
        """What the window shows, as PNG."""
        return base64.b64decode(self._command("screenshot"))

    def log(self, kind: str) -> list[dict[str, Any]]:
        """What was logged since the last call: of the console, ``browser``, or ``performance``."""
        found: list[dict[str, Any]] = self._command("se/log", {"type": kind})
        return found

    def requests(self) -> list[str]:
        """The addresses that were asked for since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def _found(self, selector: str) -> str:
        using = {"using": "css selector", "value": selector}
        found: str = self._command("element", using)[_ELEMENT]
        return found

    def _develop(self, command: str, parameters: dict[str, Any]) -> None:
        self._command("goog/cdp/execute", {"cmd": command, "params": parameters})

    def _command(self, path: str, body: Any = None) -> Any:
        return self._call(f"{self._session}/{path}", body)

    def _call(self, path: str, body: Any) -> Any:
        request = urllib.request.Request(
            f"{self._address}/{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json; charset=utf-8"},
        )
        # The driver is on this machine, whatever proxy the environment names for others.
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{request.full_url}: {error.read().decode()}") from None


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser, which is gone after the block, with all its processes and files."""
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if missing:
        reason = f"there is no {' and no '.join(missing)}; Debian has chromium, chromium-driver"
        if os.environ.get("CI"):
            pytest.fail(f"the page must be seen in a browser in CI, but {reason}")
        pytest.skip(f"the page cannot be seen in a browser: {reason}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, _driver() as address:
        yield Browser(address, folder)


@contextlib.contextmanager
def _driver() -> Iterator[str]:
    """The address of a driver, on a port that the system chose."""
    process = subprocess.Popen(
        ["chromedriver", "--port=0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A process group of its own, so that Chromium ends with it.
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{_port(process.stdout)}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _port(output: Any) -> str:
    lines = []
    for line in output:
        lines.append(line)
        if found := re.search(r"started successfully on port (\d+)", line):
            return found[1]
    raise AssertionError("chromedriver did not start:\n" + "".join(lines))
