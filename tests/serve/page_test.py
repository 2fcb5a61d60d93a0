#!/usr/bin/env python3
"""Opens the page of `lamina serve` in a browser without a window, Debian's chromium, and looks at what it shows.

The exit status is 77 if there is no browser, unless $LAMINA_REQUIRE_CLIENTS is set.
"""

import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

from server import Server, lamina_json, talking, with_words

lamina = sys.argv[1]
browser = shutil.which("chromium") or shutil.which("chromium-browser")
if browser is None:
    print("SKIPPED: clients no browser for the page of lamina serve (Debian: chromium)")
    sys.exit(1 if "LAMINA_REQUIRE_CLIENTS" in os.environ else 77)


def shown(url, folder):
    """The elements of the page when its answer is there: id -> text."""
    for _ in range(10):
        page = opened(url, folder)
        if page["time"] != "…": # the browser's clock runs on while an answer streams
            break
    return page


def opened(url, folder):
    """The elements of the page when the browser's time is up."""
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/browser",
                           "--virtual-time-budget=120000", "--dump-dom", url],
                          capture_output=True, text=True, timeout=120)
    body = re.sub(r"<script>.*?</script>", "", done.stdout, flags=re.S)
    found = {}
    for name in ["device", "models", "proved", "which", "answer", "time"]:
        element = re.search(rf'<(\w+)[^>]*\bid="{name}"[^>]*>(.*?)</\1>', body, flags=re.S)
        assert element, f"the page has no {name}: {body[:500]} {done.stderr[-500:]}"
        found[name] = html.unescape(re.sub(r"<[^>]*>", " ", element.group(2)))
    return found


with tempfile.TemporaryDirectory() as folder:
    chat = talking(pathlib.Path(folder) / "llama")
    vectors = with_words("sentences", pathlib.Path(folder) / "sentences")
    wanted = lamina_json(lamina, "chat", chat, "w7 w9", "--max-length", "30")[-1]["content"]
    with Server(lamina, [chat]) as server: # the answer is shown as it is written
        page = shown(server.url + "/#text=" + urllib.parse.quote("w7 w9"), folder)
        assert page["answer"].startswith(wanted), (page["answer"], wanted)
    with Server(lamina, [vectors]) as server:
        page = shown(server.url + "/#text=" + urllib.parse.quote("w7 <b>w9</b>"), folder)
        assert page["device"].startswith("cpu"), page
        for word in ["sentences", "/v1/embeddings", "/v2/models/sentences/infer"]:
            assert word in page["models"], page
        assert re.match(r"\d+ numbers: ", page["answer"]), page
        assert re.fullmatch(r"\d+\.\d\d s", page["time"]), page
        # What ran has been proved at its sizes; a layer without a kernel of its own has no row.
        status = server.ask("GET", "/status")[2]
        proofs = {each["layer"]: each for each in status["models"][0]["proved"] if each["variant"] == "cpu_fallback"}
        assert proofs["linear"]["of_models"] > 0 and not proofs["linear"]["why"], proofs
        page = shown(server.url, folder)
        shown_proof = re.search(r"sentences\s+linear\s+\S+\s+(\d+)\s+(\d+) of (\d+)\s+proved", page["proved"])
        assert shown_proof and int(shown_proof[1]) > 0 and int(shown_proof[3]) == proofs["linear"]["cases"], page["proved"]
        assert "attention" in page["proved"] and "log_mel" not in page["proved"], page["proved"]
        # An error is shown, not swallowed.
        page = shown(server.url + "/#text=" + urllib.parse.quote("w7 " * 3000), folder)
        assert "/input" in page["answer"], page
    with Server(lamina, [vectors], "--api-key", "secret") as server:
        assert "needs a key" in shown(server.url, folder)["answer"]
print("the page shows the models, and tries them")
