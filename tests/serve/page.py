"""Tests on the page of `lamina serve`. Importing this ends a test where there is no browser."""

import tempfile
import unittest

from browser import Browser, found
from server import server_of

program = found()


class OnThePage(unittest.TestCase):
    """Of a server with `models`."""
    lamina, models, options = "lamina", [], []

    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, cls.lamina, cls.models, *cls.options)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.browser = Browser(program, folder.name)
        cls.addClassCleanup(cls.browser.__exit__)

    def open(self, ready="document.querySelector('#model').value !== ''", **how):
        page = self.browser.page(self.server.url + how.pop("path", "/"), **how)
        self.addCleanup(page.close)
        page.wait(ready)
        return page

    def send(self, page, text, wait=True):
        page.click("#text")
        page.type(text)
        page.press("Enter")
        page.wait(f"document.querySelector('.message.assistant:last-child') !== null")
        if wait:
            self.answered(page)

    def answered(self, page):
        page.wait("document.querySelector('.message.assistant:last-child')?.getAttribute('aria-busy') === 'false'")

    def answer(self, page):
        return page.text(".message.assistant:last-child > .body")

    def requests_inside(self):
        metrics = self.server.get("/metrics")[2].decode()
        return next(line.split()[1] for line in metrics.splitlines() if line.startswith("lamina_requests_inside "))

    def choose(self, page, model):
        page.run(f"""(() => {{ const model = document.querySelector('#model'); model.value = '{model}';
                 model.dispatchEvent(new Event('change')); }})()""")

    def set_most_tokens(self, page, number):
        page.click("#show-settings")
        page.run("document.querySelector('[name=max_tokens]').select()")
        page.type(str(number))
        page.press("Escape")
