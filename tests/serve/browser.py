"""A browser without a window, Debian's chromium, asked through the DevTools protocol over two pipes."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import time


def found():
    """The path of a browser. Ends the test if there is none: with 77, or 1 if $LAMINA_REQUIRE_CLIENTS is set."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        print("SKIPPED: clients no browser for the page of lamina serve (Debian: chromium)")
        sys.exit(1 if "LAMINA_REQUIRE_CLIENTS" in os.environ else 77)
    return path


class Browser:
    """`with Browser(found(), folder) as browser: page = browser.page(url, width=360, height=740)`"""

    def __init__(self, program, folder):
        read_commands, self.commands = os.pipe()
        self.answers, write_answers = os.pipe()
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
                     "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={folder}/browser", "about:blank"]
        # The browser reads from 3 and writes to 4.
        self.process = subprocess.Popen(["sh", "-c", f'exec "$0" "$@" 3<&{read_commands} 4>&{write_answers}', program,
                                         *arguments],
                                        pass_fds=[read_commands, write_answers], stderr=subprocess.DEVNULL)
        os.close(read_commands)
        os.close(write_answers)
        self.rest, self.last, self.events = b"", 0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.process.wait(30)
        except (RuntimeError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        finally:
            os.close(self.commands)
            os.close(self.answers)

    def message(self, until):
        """The next one."""
        while b"\0" not in self.rest:
            if not select.select([self.answers], [], [], max(0, until - time.monotonic()))[0]:
                raise RuntimeError("the browser does not answer")
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, timeout=120, **parameters):
        self.last += 1
        asked = {"id": self.last, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        text = json.dumps(asked).encode() + b"\0"
        while text:
            text = text[os.write(self.commands, text):]
        until = time.monotonic() + timeout
        while True:
            message = self.message(until)
            if message.get("id") == self.last:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def page(self, url, **how):
        return Page(self, url, **how)


class Page:
    """A tab. Its storage is its own: no page sees that of another one."""

    def __init__(self, browser, url, width=1280, height=800, dark=False):
        self.browser = browser
        self.context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for each in ["Page", "Runtime", "Log", "Network"]:
            self.call(each + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme, {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.call("Page.navigate", url=url)
        self.wait("location.href !== 'about:blank' && document.readyState === 'complete'")

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def close(self):
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)

    def run(self, script):
        """The value of an expression, or of the promise that it is."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{script}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def wait(self, script, timeout=120):
        """Until the expression is true; its value."""
        until = time.monotonic() + timeout
        while not (value := self.run(script)):
            if time.monotonic() > until:
                shown = self.run("document.body.innerText")
                raise AssertionError(f"never true: {script}; the page says: {shown}; {self.complaints()}")
            time.sleep(0.05)
        return value

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def click(self, selector):
        """With the mouse, in the middle of the element."""
        at = self.wait(f"""(() => {{
            const found = document.querySelector({json.dumps(selector)});
            if (!found || found.disabled || !found.checkVisibility()) return null;
            found.scrollIntoView({{block: "nearest"}});
            const {{x, y, width, height}} = found.getBoundingClientRect();
            const at = {{x: x + width / 2, y: y + height / 2}};
            const top = document.elementFromPoint(at.x, at.y);
            return found.contains(top) ? at : null;
        }})()""")
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"]:
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def press(self, key, modifiers=0):
        """A key, such as Enter, Escape or Tab. Modifiers: 8 is Shift."""
        code = {"Enter": 13, "Escape": 27, "Tab": 9}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code,
                  modifiers=modifiers, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code,
                  modifiers=modifiers)

    def choose_file(self, selector, *paths):
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])

    def drop(self, selector, *paths):
        """Files, in the middle of the element."""
        at = self.run(f"""(() => {{
            const {{x, y, width, height}} = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
            return {{x: x + width / 2, y: y + height / 2}};
        }})()""")
        data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
        for kind in ["dragEnter", "dragOver", "drop"]:
            self.call("Input.dispatchDragEvent", type=kind, data=data, **at)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def complaints(self):
        """What the browser has said about this page: exceptions, and whatever its Content-Security-Policy forbade."""
        out = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                out.append(event["params"]["exceptionDetails"])
            if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                out.append(event["params"]["entry"])
            if event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ["error", "warning"]:
                out.append(event["params"]["args"])
        return out

    def requests(self):
        """The addresses that this page has asked."""
        return [event["params"]["request"]["url"] for event in self.browser.events
                if event.get("sessionId") == self.session and event["method"] == "Network.requestWillBeSent"]
