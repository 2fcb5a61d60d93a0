#!/usr/bin/env python3
"""Chats on the page of `lamina serve`, in a browser without a window.

The exit status is 77 if there is no browser, unless $LAMINA_REQUIRE_CLIENTS is set.
"""

import json
import pathlib
import sys
import tempfile
import unittest

from page import OnThePage
from server import lamina_json, repository, talking, wav, with_words

OnThePage.lamina = lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
here = pathlib.Path(folder.name)
files = sorted((repository / "serve" / "page").iterdir())
phone = {"width": 360, "height": 740}


def with_text(model, old, new):
    """Changes the text of a file of a model."""
    file, text = (model / old[0]), (model / old[0]).read_text()
    assert old[1] in text, text
    file.write_text(text.replace(old[1], new))
    return model


talker = talking(here / "talker")
OnThePage.models = [talker]
endless = talking(here / "endless", {"max_position_embeddings": 100000})
thinker = with_text(talking(here / "thinker"), ("chat_template.jinja", "{% endfor %}"), "{% endfor %}<think>\n")


class Files(OnThePage):
    def test_are_those_of_the_source_and_nothing_else_may_run(self):
        for file in files:
            status, headers, text = self.server.get("/page/" + file.name)
            self.assertEqual((status, text), (200, file.read_bytes()), file.name)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        status, headers, text = self.server.get("/")
        self.assertEqual((status, text), (200, (repository / "serve/page/index.html").read_bytes()))
        policy = dict(each.strip().split(" ", 1) for each in headers["Content-Security-Policy"].split(";"))
        for what in ["script-src", "style-src", "connect-src"]:
            self.assertEqual(policy[what], "'self'")
        self.assertEqual(policy["img-src"], "'self' data:")
        for what in ["default-src", "base-uri", "form-action", "frame-ancestors", "trusted-types"]:
            self.assertEqual(policy[what], "'none'")
        for wrong in ["nothing.js", "..%2Fapi.cpp", ""]:
            self.assertEqual(self.server.get("/page/" + wrong)[0], 404)

    def test_come_from_the_server_alone(self):
        page = self.open()
        self.send(page, "w7 ![a picture](https://example.org/picture.png)")
        asked = page.requests()
        self.assertGreater(len(asked), len(files) / 2)
        self.assertEqual([each for each in asked if not each.startswith(self.server.url + "/")], [])
        self.assertEqual(page.complaints(), [])

    def test_give_every_control_a_name(self):
        page = self.open()
        self.send(page, "w7 w9")
        nameless = page.run("""[...document.querySelectorAll("button, input, select, textarea")].filter(each =>
            each.id !== "toast-action" && !each.getAttribute("aria-label") && !each.textContent.trim() &&
            !each.labels?.length).map(each => each.outerHTML)""")
        self.assertEqual(nameless, [])


class Chats(OnThePage):
    models = [talker, endless, thinker]

    def setUp(self):
        self.page = self.open()

    def change_last(self):
        self.page.run("""[...document.querySelectorAll(".message.user")].at(-1)
                      .querySelector("[aria-label='Change this message']").click()""")

    def test_have_the_answers_of_the_command(self):
        wanted = lamina_json(lamina, "chat", talker, "w7 w9", "w3", "--max-length", "5")
        self.set_most_tokens(self.page, 5)
        for turn, text in enumerate(["w7 w9", "w3"]):
            self.send(self.page, text)
            self.assertEqual(self.answer(self.page), wanted[2 * turn + 1]["content"].strip())
        foot = self.page.text(".message.assistant:last-child .foot")
        self.assertRegex(foot, r"^5 tokens · (\d+\.\d a second · )?first after \d+\.\d s · \d+ read")
        self.assertIn("cut off", self.page.text(".message.assistant:last-child .notes"))
        self.assertEqual(self.page.complaints(), [])

    def test_come_as_they_are_written_and_stop(self):
        page = self.page
        for stop in [lambda: page.press("Escape"), lambda: page.click("#stop")]:
            self.choose(page, "endless")
            page.click("#new-chat")
            self.set_most_tokens(page, 90000)
            self.send(page, "w7", wait=False)
            page.wait("document.querySelector('.message.assistant > .body').innerText.length > 20")
            self.assertEqual(page.run("document.querySelector('.message.assistant').getAttribute('aria-busy')"), "true")
            self.assertEqual(self.requests_inside(), "1")
            stop()
            self.answered(page)
            self.assertIn("Stopped.", page.text(".message.assistant .notes"))
            self.assertGreater(len(self.answer(page)), 20)
            page.wait("document.querySelector('.message.assistant .stats')?.innerText.includes(' tokens · ')")
            page.wait("fetch('metrics').then(each => each.text()).then(each => each.includes('lamina_requests_inside 0'))")
        self.assertEqual(page.complaints(), [])

    def test_are_answered_again_and_changed(self):
        page = self.page
        self.send(page, "w7 w9")
        first = self.answer(page)
        self.send(page, "w3")
        page.click(".message.assistant:last-child [aria-label='Answer again']")
        page.wait("document.querySelectorAll('.message').length === 4")
        self.answered(page)
        self.change_last()
        self.assertEqual(page.run("document.querySelector('#text').value"), "w3")
        page.press("Escape") # left as it was
        self.assertEqual(page.run("document.querySelector('#text').value"), "")
        self.assertEqual(page.run("document.querySelectorAll('.message').length"), 4)
        self.change_last()
        page.run("document.querySelector('#text').select()")
        page.type("w11 w12")
        page.press("Enter")
        page.wait("document.querySelectorAll('.message.user')[1].innerText.includes('w11 w12')")
        self.answered(page)
        self.assertEqual(page.run("document.querySelectorAll('.message').length"), 4)
        self.assertEqual(page.text(".message.assistant > .body"), first)

    def test_take_lines_and_a_link_only_fills_the_field(self):
        page = self.open(path="/#text=w7%20w9", ready="document.querySelector('#text').value === 'w7 w9'")
        self.assertEqual(page.run("document.querySelectorAll('.message').length"), 0)
        page.press("Enter", modifiers=8)
        page.type("w3")
        self.assertEqual(page.run("document.querySelector('#text').value"), "w7 w9\nw3")
        page.press("Enter")
        self.answered(page)
        self.assertEqual(page.text(".message.user .body"), "w7 w9\nw3")

    def test_fold_what_a_model_thinks(self):
        page = self.page
        self.choose(page, "thinker")
        self.send(page, "w7")
        self.assertFalse(page.run("document.querySelector('.message.assistant .thought').open"))
        page.click(".message.assistant .thought summary")
        self.assertRegex(page.text(".message.assistant .thought .body"), r"w\d+")

    def test_are_kept_in_this_browser_until_they_are_deleted(self):
        page = self.page
        self.send(page, "w7 w9")
        first = self.answer(page)
        page.click("#new-chat")
        self.send(page, "w3")
        page.call("Page.reload")
        page.wait("document.querySelectorAll('#chats li').length === 2")
        self.assertEqual(page.text("#chats li.current .chat"), "w3")
        page.click("#chats li:not(.current) .chat")
        self.assertEqual(self.answer(page), first)
        page.click("#chats li.current .icon-button")
        page.wait("document.querySelectorAll('#chats li').length === 1")
        self.assertEqual(page.run("document.querySelectorAll('.message').length"), 0)
        page.click("#toast-action")
        page.wait("document.querySelectorAll('#chats li').length === 2")

    def test_are_told_what_is_proved(self):
        page = self.page
        page.click("#proof")
        page.wait("document.querySelector('#proofs').open")
        status = self.server.get("/status")[2]
        proofs = {each["layer"]: each for each in status["models"][0]["proved"] if each["variant"] == "cpu_fallback"}
        self.assertGreater(proofs["linear"]["of_models"], 0)
        self.assertEqual(page.text("#proofs-device"), " · ".join(
            [status["device"][name] for name in ["id", "name", "driver"]] + ["Lamina " + status["version"]]))
        rows = page.run("""[...document.querySelectorAll("#proofs details[open] tr")].map(
            row => [...row.cells].map(each => each.innerText))""")
        wanted = next(row for row in rows if row[:2] == ["linear", "cpu_fallback"])
        self.assertEqual(wanted[4].split()[2], str(proofs["linear"]["cases"]))
        self.assertIn("proved", wanted[2])
        self.assertNotIn("log_mel", [row[0] for row in rows])

    def test_do_not_send_what_has_no_answer(self):
        """A question that failed does not make the next one fail."""
        page = self.page
        self.send(page, "w7 " * 3000)
        self.assertIsNotNone(page.text(".message.assistant .error"))
        self.send(page, "w7 w9")
        wanted = lamina_json(lamina, "chat", talker, "w7 w9", "--max-length", "16") # a quarter of its context
        self.assertEqual(self.answer(page), wanted[-1]["content"].strip())


class Keys(OnThePage):
    options = ["--api-key", "secret"]

    def test_are_asked_for_and_kept_for_this_tab_only(self):
        page = self.open(ready="document.querySelector('#key').open")
        self.assertIn("only those who have a key", page.text("#key-why"))
        page.type("wrong")
        page.press("Enter")
        page.wait("document.querySelector('#key-why').innerText.includes('not one of')")
        page.type("secret")
        page.press("Enter")
        page.wait("document.querySelector('#model').value !== ''")
        self.send(page, "w7")
        self.assertRegex(self.answer(page), r"w\d+")
        self.assertEqual(page.run("Object.values(sessionStorage).includes('secret')"), True)
        self.assertEqual(page.run("Object.values(localStorage).some(each => each.includes('secret'))"), False)
        page.click("#show-settings")
        page.click("#forget-key")
        page.wait("sessionStorage.length === 0")

    def test_may_be_refused(self):
        page = self.open(ready="document.querySelector('#key').open")
        page.press("Escape")
        page.wait("document.querySelector('#greeting').innerText.includes('needs a key')")
        page.click("#toast-action")
        page.wait("document.querySelector('#key').open")


class SmallScreens(OnThePage):
    models = [talker, with_words("sentences", here / "sentences")]

    def test_never_scroll_sideways(self):
        page = self.open(**phone)
        narrow = "document.documentElement.scrollWidth <= 360 && document.querySelector('#scroll').scrollWidth <= 360"
        self.assertTrue(page.run(narrow))
        self.send(page, "w7 " + "x" * 500 + " https://example.org/" + "y" * 300)
        wide = ["x" * 300, "```\n" + "z" * 400 + "\n```", "|a" * 30 + "|\n" + "|-" * 30 + "|", "- - - - " + "y" * 300,
                "> > " + "v" * 300, "# " + "w" * 300, "`" + "u" * 300 + "`"]
        page.run(f"""import('/page/markdown.js').then(({{show_markdown}}) => show_markdown(
            document.querySelector('.assistant > .body'), {json.dumps(chr(10).join(each + chr(10) for each in wide))}))""")
        self.assertTrue(page.run("document.querySelector('.assistant pre, .assistant .table') !== null"))
        self.assertTrue(page.run(narrow))
        for button, dialog in [("#show-settings", "#settings"), ("#proof", "#proofs")]:
            page.click(button)
            page.wait(f"document.querySelector('{dialog}').open")
            self.assertLessEqual(page.run(f"document.querySelector('{dialog}').scrollWidth"), 360)
            self.assertTrue(page.run(narrow))
            page.press("Escape")
        page.click("#show-sidebar")
        self.assertTrue(page.run(narrow))
        self.assertTrue(page.run("document.querySelector('main').inert"))
        page.press("Escape")
        self.assertFalse(page.run("document.querySelector('main').inert"))
        page.click("#show-sidebar")
        page.click("#new-chat") # which shuts the list
        self.assertEqual(page.run("document.querySelector('#sidebar').inert"), True)
        self.assertEqual(page.complaints(), [])


class OtherModels(OnThePage):
    models = [with_words("sentences", here / "vectors"), with_words("whisper", here / "listener"), talker]

    def test_make_vectors(self):
        page = self.open()
        self.assertEqual(page.run("document.querySelector('#model').value"), "talker") # who chats comes first
        self.choose(page, "vectors")
        self.send(page, "w7 w9")
        wanted = self.server.post("/v1/embeddings", {"model": "vectors", "input": "w7 w9"})[2]["data"][0]["embedding"]
        self.assertIn(f"{len(wanted)} numbers", self.answer(page))
        self.assertEqual([float(each) for each in page.text(".assistant pre").split()],
                         [float(f"{each:.3e}") for each in wanted])
        self.send(page, "w7 " * 3000)
        self.assertIn("/input", page.text(".message.assistant:last-child .error"))

    def test_write_down_what_they_hear(self):
        (here / "tone.wav").write_bytes(wav(0.5))
        wanted = lamina_json(lamina, "run", self.models[1], here / "tone.wav")[0]["output"].strip()
        page = self.open()
        page.choose_file("#file", here / "tone.wav") # for the field
        page.wait(f"document.querySelector('#text').value === {json.dumps(wanted)}")
        self.choose(page, "listener")
        page.click("#new-chat")
        page.choose_file("#file", here / "tone.wav")
        page.wait("document.querySelector('#attachment-name').innerText === 'tone.wav'")
        page.click("#send")
        page.wait("document.querySelector('.message.assistant') !== null")
        self.answered(page)
        self.assertEqual(self.answer(page), wanted)
        self.assertEqual(page.complaints(), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
