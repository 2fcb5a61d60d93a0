#!/usr/bin/env python3
"""Who may ask `lamina serve` for what, and until when."""

import concurrent.futures
import http.client
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from server import Server, server_of, with_words

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
sentences = with_words("sentences", pathlib.Path(folder.name) / "sentences")
texts = ["w3 w9 w4", "w7", "w8 w9 w10 w11", "w3", "w5 w6 w7 w8 w9 w10 w11"]


class Misuse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [sentences], "--max-body", 1)

    def test_bodies_have_a_limit(self):
        status, _, body = self.server.post("/v1/embeddings", "x" * (2 << 20))
        self.assertEqual(status, 413)
        self.assertIn("--max-body", body["error"]["message"])
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        head = b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as connection:
            connection.sendall(head + chunk * 17) # no length is announced
            self.assertIn(b" 413 ", connection.makefile("rb").readline())

    def test_paths_and_methods_are_known(self):
        status, _, body = self.server.get("/v1/nothing")
        self.assertEqual((status, body["error"]["type"]), (404, "not_found_error"))
        status, headers, body = self.server.get("/v1/embeddings")
        self.assertEqual((status, headers["Allow"]), (405, "POST"))
        self.assertEqual(self.server.ask("DELETE", "/v2/models/sentences")[0], 405)
        self.assertEqual(list(self.server.get("/v2/nothing")[2]), ["error"])
        self.assertEqual(self.server.post("/v1/embeddings", "")[0], 400)
        self.assertEqual(self.server.post("/v1/embeddings", "[" * 100000)[0], 400)

    def test_other_sites_cannot_use_it_through_a_browser(self):
        body = {"model": "sentences", "input": "w3"}
        self.assertEqual(self.server.post("/v1/embeddings", body, Origin="http://evil.example")[0], 403)
        self.assertEqual(self.server.post("/v1/embeddings", body, Host="evil.example")[0], 403)
        self.assertEqual(self.server.post("/v1/embeddings", body, Origin=self.server.url)[0], 200)


class OtherSites(unittest.TestCase):
    """Pages of sites that --allow-origin names."""
    body = {"model": "sentences", "input": "w3"}
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}

    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [sentences], "--api-key", "first", "--allow-origin", "https://one.example",
                               "--allow-origin", "http://two.example:81")

    def ask(self, origin, key="first", path="/v1/embeddings", **more):
        return self.server.post(path, self.body, Origin=origin, Authorization=f"Bearer {key}", **more)

    def test_may_use_it_with_a_key_and_read_what_it_says(self):
        for origin in ["https://one.example", "http://two.example:81"]:
            for key, path, status in [("first", "/v1/embeddings", 200), ("second", "/v1/embeddings", 401),
                                      ("first", "/v1/nothing", 404), ("first", "/v1/rerank", 400)]:
                found, headers, _ = self.ask(origin, key, path)
                self.assertEqual(found, status)
                self.assertEqual((headers["Access-Control-Allow-Origin"], headers["Vary"]), (origin, "Origin"))
                self.assertIsNone(headers["Access-Control-Allow-Credentials"])

    def test_are_told_what_they_may_ask_without_a_key(self):
        from_one = {"Origin": "https://one.example", **self.preflight}
        found, headers, text = self.server.ask("OPTIONS", "/v1/embeddings", headers=from_one)
        self.assertEqual((found, text), (200, b""))
        self.assertEqual((headers["Access-Control-Allow-Origin"], headers["Access-Control-Allow-Methods"]),
                         ("https://one.example", "POST"))
        allowed = headers["Access-Control-Allow-Headers"].lower().split(", ")
        self.assertLessEqual({"authorization", "content-type", "x-api-key", "anthropic-version"}, set(allowed))
        self.assertGreater(int(headers["Access-Control-Max-Age"]), 0)
        other = self.server.ask("OPTIONS", "/v1/nothing", headers=from_one)
        self.assertEqual((other[0], other[1]["Access-Control-Allow-Origin"]), (404, "https://one.example"))

    def test_that_are_not_named_are_refused(self):
        for origin in ["https://evil.example", "http://one.example", "https://one.example:444", "https://one.example.evil",
                       "null", "*"]:
            for status, headers, _ in [self.ask(origin), self.server.ask("OPTIONS", "/v1/embeddings",
                                                                         headers={"Origin": origin, **self.preflight})]:
                self.assertEqual((status, headers["Access-Control-Allow-Origin"], headers["Vary"]), (403, None, "Origin"))
        status, headers, _ = self.ask(self.server.url) # its own
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (200, None))
        self.assertEqual(self.ask("https://one.example", Host="evil.example")[0], 403)

    def test_may_be_all(self):
        with Server(lamina, [sentences], "--allow-origin", "*") as server:
            status, headers, _ = server.post("/v1/embeddings", self.body, Origin="https://any.example")
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (200, "*"))
            status, headers, _ = server.ask("OPTIONS", "/props", headers={"Origin": "null", **self.preflight})
            self.assertEqual((status, headers["Access-Control-Allow-Methods"]), (200, "GET"))
            self.assertEqual(server.ask("OPTIONS", "/props")[0], 405) # no page asks

    def test_are_refused_without_the_option(self):
        with Server(lamina, [sentences]) as server:
            headers = {"Origin": "https://one.example", **self.preflight}
            status, headers, _ = server.ask("OPTIONS", "/v1/embeddings", headers=headers)
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (405, None))

    def test_have_names_that_browsers_send(self):
        for wrong in ["one.example", "https://one.example/", "https://One.example", "null", "https://*.example", "://x",
                      "https://"]:
            done = subprocess.run([lamina, "serve", sentences, "--allow-origin", wrong, "--device", "cpu"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn(f"--allow-origin: expected *, or an origin in lower case and without a path, such as "
                          f"https://app.example:8443; found '{wrong}'", done.stderr)


class Keys(unittest.TestCase):
    def test_open_the_door(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("first\nsecond\n")
            file.flush()
            with Server(lamina, [sentences], "--api-key-file", file.name, "--api-key", "third") as server:
                for key, status in [("first", 200), ("second", 200), ("third", 200), ("fourth", 401), ("", 401)]:
                    self.assertEqual(server.get("/v1/models", Authorization=f"Bearer {key}")[0], status)
                status, headers, _ = server.get("/v1/models")
                self.assertEqual((status, headers["WWW-Authenticate"]), (401, "Bearer"))
                self.assertEqual(server.get("/metrics")[0], 401)
                self.assertEqual(server.get("/v2/health/ready")[0], 200) # probes have no key


class Ending(unittest.TestCase):
    def test_loses_nothing(self):
        """Under load, every request that was begun is answered, and every other is refused or not connected."""
        with Server(lamina, [sentences]) as server:
            answers, ended = [], time.monotonic() + 20

            def client():
                while time.monotonic() < ended:
                    try:
                        connection = server.connection()
                        connection.connect()
                    except OSError:
                        return # it has ended
                    try:
                        connection.request("POST", "/v1/embeddings", json.dumps({"model": "sentences", "input": texts}))
                        answers.append(connection.getresponse().status)
                    except (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected):
                        answers.append("not begun") # connected while the server closed its port
                    finally:
                        connection.close()

            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                clients = [pool.submit(client) for _ in range(8)]
                while len(answers) <= 8 and time.monotonic() < ended: # clients are in the midst of more
                    time.sleep(0.05)
                status = server.end()
            for each in clients:
                each.result()
            self.assertEqual(status, 0)
            self.assertLess(time.monotonic(), ended)
            self.assertLessEqual(set(answers), {200, 503, "not begun"})
            self.assertGreater(answers.count(200), 8)
            accepted = answers.count(200)
            self.assertLessEqual(answers.count("not begun"), 8, f"{accepted} were answered")

    def test_is_not_delayed_by_idle_connections(self):
        with Server(lamina, [sentences]) as server:
            connection = server.connection()
            connection.request("GET", "/v2/health/live")
            connection.getresponse().read()
            began = time.monotonic()
            self.assertEqual(server.end(), 0)
            self.assertLess(time.monotonic() - began, 30) # connections may be idle for 60
            connection.close()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
