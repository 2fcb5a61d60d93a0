#!/usr/bin/env python3
"""Sends images from the page of `lamina serve` to tiny models that see.

The exit status is 77 if there is no browser, unless $LAMINA_REQUIRE_CLIENTS is set.
"""

import base64
import json
import pathlib
import random
import shutil
import struct
import sys
import tempfile
import unittest
import zlib

from page import OnThePage
from server import lamina_json, repository, talking

OnThePage.lamina = lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
here = pathlib.Path(folder.name)
architectures = repository / "tests" / "architectures"
files = architectures / "images" / "files"
phone = {"width": 390, "height": 844}
widths = [phone, {"width": 1280, "height": 800}]

seer = here / "seer"
shutil.copytree(architectures / "models" / "llava", seer)
shutil.copytree(architectures / "seeing" / "talking", seer, dirs_exist_ok=True)
config = json.loads((seer / "config.json").read_text())
config["text_config"]["max_position_embeddings"] = 1000
(seer / "config.json").write_text(json.dumps(config))
blind = talking(here / "blind", {"max_position_embeddings": 1000})


def png(name, width, height, row):
    """A file; `row(y)` are the bytes of its pixels."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = zlib.compress(b"".join(b"\0" + row(y) for y in range(height)))
    (here / name).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                              chunk(b"IDAT", rows) + chunk(b"IEND", b""))
    return here / name


def noise(name):
    """Some 270 KB of which a megabyte takes two, as text of base64, and no compression makes less."""
    return png(name, 300, 300, lambda _: random.randbytes(900))


wide = png("wide.png", 3000, 1500, lambda y: bytes([y % 256, 100, 200]) * 3000)
gif = here / "dot.gif"
gif.write_bytes(base64.b64decode("R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs="))
strange = here / "photo.heic"
strange.write_bytes(b"\0\0\0\x18ftypheic" + bytes(100))

at_last = "[...document.querySelectorAll('.message.user')].at(-1)"
previews = "#images li:not(.picture)"


def url(file, kind=None):
    return f"data:image/{kind or file.suffix[1:]};base64," + base64.b64encode(file.read_bytes()).decode()


class ImagesOnThePage(OnThePage):
    def open(self, **how):
        page = super().open(**how)
        self.watch(page)
        return page

    def watch(self, page):
        """From now on window.asked has the messages of the last request."""
        page.run("""(() => { const plain = window.fetch; window.fetch = (path, options) => {
            if (path.endsWith("completions")) window.asked = JSON.parse(options.body).messages;
            return plain(path, options);
        }; })()""")

    def add(self, page, *chosen, count=None):
        page.choose_file("#image-files", *chosen)
        self.wait_for(page, len(chosen) if count is None else count)

    def paste(self, page, file, text=""):
        """A file that is called an image in PNG, with a text beside it."""
        page.run(f"""(() => {{
            const data = new DataTransfer(), bytes = Uint8Array.from(atob("{url(file).split(",")[1]}"), each => each.charCodeAt(0));
            data.items.add(new File([bytes], "copied.png", {{type: "image/png"}}));
            if ({json.dumps(text)}) data.setData("text/plain", {json.dumps(text)});
            document.querySelector("#text").dispatchEvent(new ClipboardEvent("paste", {{clipboardData: data, bubbles: true}}));
        }})()""")

    def wait_for(self, page, count):
        page.wait(f"document.querySelectorAll('{previews} img[src]').length === {count} && "
                  "document.querySelector('#images').getAttribute('aria-busy') === 'false'")

    def sent_with(self, page, text):
        self.send(page, text)
        self.assertIsNone(page.text(".message.assistant:last-child .error"))
        return page.run("window.asked")

    def shown(self, page, count):
        """In the last message."""
        page.wait(f"{at_last}?.querySelectorAll('.picture img[src]').length === {count}")

    def reload(self, page):
        page.call("Page.reload")
        page.wait("document.querySelector('#model')?.value && document.querySelector('.message') !== null")
        self.watch(page)

    def kept(self, page):
        """The number of images in this browser."""
        return page.run("""new Promise(resolve => { indexedDB.open("lamina", 1).onsuccess = ({target}) => {
            const asked = target.result.transaction("images").objectStore("images").count();
            asked.onsuccess = () => { target.result.close(); resolve(asked.result); };
        }; })""")

    def again(self, page):
        page.run("document.querySelector('.message.assistant:last-child').classList.add('old')")
        page.click(".message.assistant:last-child [aria-label='Answer again']")
        page.wait("document.querySelector('.message.assistant.old') === null")
        self.answered(page)
        return page.run("window.asked")


class Images(ImagesOnThePage):
    models = [seer, blind]

    def test_are_sent_as_they_are_and_answered_as_by_the_command(self):
        wanted = lamina_json(lamina, "chat", seer, "--image", files / "photo.png", "w38 w19 w5", "--max-length", "6")
        for size in widths:
            page = self.open(**size)
            self.set_most_tokens(page, 6)
            self.add(page, files / "photo.png")
            asked = self.sent_with(page, "w38 w19 w5")
            self.assertEqual(asked, [{"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": url(files / "photo.png")}},
                {"type": "text", "text": "w38 w19 w5"}]}])
            self.assertEqual(self.answer(page), wanted[-1]["content"].strip())
            self.shown(page, 1)
            self.assertEqual(page.run("document.querySelectorAll('#images li').length"), 0)
            self.assertEqual(page.complaints(), [])

    def test_are_sent_again_with_later_turns_which_share_them(self):
        page = self.open()
        self.add(page, files / "photo.png", files / "photo.jpg")
        first = self.sent_with(page, "w3")
        self.add(page, files / "photo.webp")
        page.click("#send") # an image needs no text
        page.wait("document.querySelectorAll('.message').length === 4")
        self.answered(page)
        asked = page.run("window.asked")
        self.assertEqual(asked[:1], first)
        self.assertEqual([each["role"] for each in asked], ["user", "assistant", "user"])
        self.assertEqual(asked[2]["content"], [{"type": "image_url", "image_url": {"url": url(files / "photo.webp")}}])
        self.assertRegex(page.text(".message.assistant:last-child .stats"), r"read, \d\d of them known")

    def test_are_pasted_and_dropped(self):
        page = self.open()
        page.drop("#scroll", files / "photo.png", files / "photo.jpg")
        self.wait_for(page, 2)
        self.paste(page, gif)
        self.wait_for(page, 3)
        self.paste(page, files / "photo.png", text="w4") # as word processors copy
        self.wait_for(page, 3)
        asked = self.sent_with(page, "w3")
        self.assertEqual(len(asked[0]["content"]), 4)
        self.assertEqual(page.run("document.querySelector('main').classList.contains('dropping')"), False)

    def test_are_made_smaller_and_written_in_a_format_that_the_server_reads(self):
        page = self.open()
        self.add(page, wide, gif)
        asked = self.sent_with(page, "w3")
        large, small = [each["image_url"]["url"] for each in asked[0]["content"][:2]]
        self.assertTrue(large.startswith("data:image/jpeg;base64,/9j/"))
        self.assertTrue(small.startswith("data:image/jpeg;base64,/9j/"))
        self.shown(page, 2)
        self.assertEqual(page.run(f"[...{at_last}.querySelectorAll('img')].map(each => [each.naturalWidth, each.naturalHeight])"),
                         [[1280, 640], [1, 1]])
        colour = page.run(f"""(() => {{
            const canvas = document.createElement("canvas"), paper = canvas.getContext("2d");
            paper.drawImage({at_last}.querySelectorAll('img')[1], 0, 0);
            return [...paper.getImageData(0, 0, 1, 1).data];
        }})()""")
        for found, wanted in zip(colour, [255, 0, 0, 255]):
            self.assertAlmostEqual(found, wanted, delta=6)

    def test_that_the_browser_cannot_read_are_refused(self):
        page = self.open()
        self.add(page, strange, files / "photo.png", count=1)
        self.assertIn("photo.heic is no image that this browser can read", page.text("#toast-text"))
        page.choose_file("#image-files", *[gif] * 64)
        self.wait_for(page, 64)
        self.assertIn("at most 64 images", page.text("#toast-text"))

    def test_are_kept_with_their_chat(self):
        page = self.open()
        self.add(page, files / "photo.png", wide)
        first = self.sent_with(page, "w3")
        self.assertEqual(self.kept(page), 2)
        self.assertLess(page.run("JSON.stringify(localStorage).length"), 3000)
        self.reload(page)
        self.shown(page, 2)
        self.assertEqual(self.again(page), first)
        page.click("#chats li.current .icon-button") # deletes it
        page.call("Page.reload")
        page.wait("document.querySelector('#model')?.value")
        for _ in range(100):
            if self.kept(page) == 0:
                return
            page.run("new Promise(done => setTimeout(done, 50))")
        self.fail("images of no chat are kept")

    def test_are_taken_away_and_changed_with_their_message(self):
        page = self.open()
        self.add(page, files / "photo.png", files / "photo.jpg", gif)
        page.click("#images [aria-label='Take dot.gif away']")
        self.wait_for(page, 2)
        self.assertEqual(page.run("document.activeElement.getAttribute('aria-label')"), "Take photo.jpg away")
        self.sent_with(page, "w3")
        self.reload(page)
        page.run(f"{at_last}.querySelector('[aria-label=\"Change this message\"]').click()")
        self.wait_for(page, 2)
        page.press("Escape")
        self.wait_for(page, 0)
        self.shown(page, 2)
        page.run(f"{at_last}.querySelector('[aria-label=\"Change this message\"]').click()")
        self.wait_for(page, 2)
        page.click("#images [aria-label='Take photo.png away']")
        self.add(page, files / "photo.webp", count=2)
        page.run("document.querySelector('#text').value = ''")
        asked = self.sent_with(page, "w4")
        self.assertEqual([each.get("text") or each["image_url"]["url"] for each in asked[0]["content"]],
                         [url(files / "photo.jpg", "jpeg"), url(files / "photo.webp"), "w4"])
        self.reload(page)
        self.shown(page, 2)
        self.assertEqual(self.again(page), asked)

    def test_that_are_gone_are_missed_aloud(self):
        page = self.open()
        self.add(page, files / "photo.png")
        self.sent_with(page, "w3")
        page.run("""new Promise(resolve => { indexedDB.open("lamina", 1).onsuccess = ({target}) => {
            const change = target.result.transaction("images", "readwrite");
            change.objectStore("images").clear();
            change.oncomplete = () => { target.result.close(); resolve(); };
        }; })""")
        self.reload(page)
        page.wait("document.querySelector('.picture.gone') !== null")
        self.assertEqual(page.text(".picture.gone"), "photo.png is no longer kept in this browser")
        self.assertEqual(self.again(page), [{"role": "user", "content": "w3"}])
        self.assertIn("no longer has one image of this chat", page.text(".message.assistant .notes"))

    def test_that_cannot_be_kept_last_as_long_as_the_page(self):
        page = self.open()
        page.run("IDBObjectStore.prototype.put = () => { throw new Error('no room'); }")
        self.add(page, files / "photo.png")
        first = self.sent_with(page, "w3")
        page.wait("document.querySelector('#toast-text').innerText.includes('cannot keep the images')")
        self.assertEqual(self.again(page), first)

    def test_are_not_for_models_that_do_not_see(self):
        page = self.open()
        self.add(page, files / "photo.png")
        self.sent_with(page, "w3")
        self.add(page, files / "photo.jpg")
        self.choose(page, "blind")
        self.assertTrue(page.run("document.querySelector('#add-images').checkVisibility()") is False)
        self.assertEqual(page.run("document.querySelectorAll('#images li').length"), 0)
        self.assertEqual(page.text("#toast-text"), "This model takes no images: those of your message were taken away.")
        page.drop("#scroll", files / "photo.png") # which the browser does not leave the page for
        self.paste(page, files / "photo.png")
        page.wait("document.querySelector('#toast-text').innerText === 'This model takes no images.'")
        self.wait_for(page, 0)
        asked = self.sent_with(page, "w4")
        self.assertEqual([each["content"] for each in asked][::2], ["w3", "w4"])
        self.assertIn("blind takes no images: it was asked without one image.", page.text(".message.assistant:last-child .notes"))

    def test_open_larger_and_need_no_mouse(self):
        for size in widths:
            page = self.open(**size)
            self.add(page, *[files / "photo.png", wide, noise("noise.png")] * 3)
            narrow = f"document.documentElement.scrollWidth <= {size['width']} && " \
                     f"document.querySelector('#scroll').scrollWidth <= {size['width']}"
            self.assertTrue(page.run(narrow))
            self.sent_with(page, "w3")
            self.shown(page, 9)
            self.assertTrue(page.run(narrow))
            self.assertEqual(page.run("""[...document.querySelectorAll("button")].filter(each => each.id !== "toast-action" &&
                !each.getAttribute("aria-label") && !each.textContent.trim()).map(each => each.outerHTML)"""), [])
            page.run("document.querySelectorAll('.message .picture')[1].focus()")
            page.press("Enter")
            page.wait("document.querySelector('#picture').open && document.querySelector('#picture img').naturalWidth === 1280")
            self.assertEqual(page.text("#picture h2"), "wide.png")
            self.assertTrue(page.run("document.querySelector('#picture').scrollWidth <= innerWidth"))
            page.press("Escape")
            page.wait("!document.querySelector('#picture').open")
            self.assertEqual(page.run("document.activeElement.getAttribute('aria-label')"), "Show wide.png larger")
            self.assertEqual([each for each in page.requests() if not each.startswith((self.server.url + "/", "data:"))], [])
            self.assertEqual(page.complaints(), [])


class SmallServers(ImagesOnThePage):
    models, options = [seer], ["--max-body", "1"]

    def test_get_what_they_take(self):
        page = self.open()
        for turn in range(3):
            self.add(page, noise("noise.png"))
            asked = self.sent_with(page, f"w{turn + 3}")
        self.assertEqual([len(each["content"]) for each in asked[::2]], [2, 2])
        self.assertIn("larger than what the server takes at once: its 2 oldest messages were left out",
                      page.text(".message.assistant:last-child .notes"))
        self.add(page, *[noise("noise.png")] * 3)
        self.send(page, "w3")
        self.assertIn("more than the server takes at once: 1.0 MiB", page.text(".message.assistant:last-child .error"))
        self.assertEqual(page.complaints(), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
