#!/usr/bin/env python3
"""Does to `lamina serve` what clients should not do, and looks whether others notice: probes are answered within a
second throughout, and memory stays bounded."""

import concurrent.futures
import contextlib
import json
import pathlib
import re
import resource
import select
import socket
import sys
import tempfile
import threading
import time
import unittest

from server import Server, repository, server_of, with_words

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
sentences = with_words("sentences", pathlib.Path(folder.name) / "sentences")
g2p = repository / "models" / "g2p"
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))

MIB = 1 << 20
probe = b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
post = b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\n"
right = json.dumps({"model": "sentences", "input": "w3"}).encode()


def memory(server, which="VmRSS"):
    """Bytes of the process that are in memory; VmHWM: the most since forget_peak()."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(which + r":\s+(\d+) kB", status)[1]) << 10


def forget_peak(server):
    pathlib.Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")


def until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


@contextlib.contextmanager
def others_are_served(test, server, most=32 * MIB):
    """Meanwhile, probes are answered within a second; and memory grows by at most `most` bytes, at any time."""
    server.get("/v2/health/live")
    forget_peak(server)
    before, longest, over = memory(server), [0.0], threading.Event()

    def look():
        while len(longest) < 2 or not over.wait(0.05):
            began = time.monotonic()
            try:
                status = server.get("/v2/health/ready")[0]
            except OSError as error:
                status = error
            longest.append(time.monotonic() - began if status == 200 else status)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
        grown = memory(server, "VmHWM") - before
    finally:
        over.set()
        watcher.join()
    failed = [each for each in longest if not isinstance(each, float)]
    test.assertEqual(failed, [])
    test.assertGreater(len(longest), 1)
    test.assertLess(max(longest), 1.0)
    test.assertLess(grown, most)
    test.assertEqual(server.post("/v1/embeddings", right)[0], 200)


class Attacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [sentences, g2p])

    def connect(self, server=None):
        connection = socket.create_connection(("127.0.0.1", (server or self.server).port), timeout=30)
        self.addCleanup(connection.close)
        return connection

    def all_of(self, connection):
        """What comes until the server ends the connection."""
        out = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(1 << 16):
                out += piece
        return out

    def answer(self, request, server=None):
        """All that is answered to these bytes; the connection may be ended before they are sent."""
        connection = self.connect(server)
        with contextlib.suppress(OSError):
            connection.sendall(request)
        return self.all_of(connection).decode(errors="replace")

    def send_until_ended(self, piece, most=64 * MIB):
        """Sends a piece again and again. Returns what was answered."""
        connection, sent = self.connect(), 0
        with contextlib.suppress(OSError):
            connection.sendall(post)
            while sent < most:
                sent += connection.send(piece)
        self.assertLess(sent, most, "all was taken")
        return self.all_of(connection).decode(errors="replace")

    # ---- Clients that take their time ----

    def test_slow_headers_do_not_keep_others_out(self):
        with others_are_served(self, self.server):
            crowd = [self.connect() for _ in range(700)]
            for byte in b"GET / HTTP/1.1\r\nX: ":
                for each in crowd:
                    with contextlib.suppress(OSError): # the oldest have had to go
                        each.send(bytes([byte]))
                time.sleep(0.05)

    def test_bodies_that_drip_do_not_keep_others_out(self):
        with others_are_served(self, self.server):
            crowd = [self.connect() for _ in range(600)]
            for each in crowd:
                with contextlib.suppress(OSError):
                    each.send(post + b"Content-Length: 1000000\r\n\r\n{")
            for _ in range(20):
                for each in crowd:
                    with contextlib.suppress(OSError):
                        each.send(b" ")
                time.sleep(0.05)

    def test_idle_connections_do_not_keep_others_out(self):
        with others_are_served(self, self.server):
            crowd = [self.connect() for _ in range(700)]
            for each in crowd[400:]:
                each.sendall(probe)
                self.assertTrue(each.recv(4096).startswith(b"HTTP/1.1 200"))
            crowd[-1].sendall(probe) # again
            self.assertTrue(crowd[-1].recv(4096).startswith(b"HTTP/1.1 200"))
            time.sleep(1)

    def test_slow_clients_cost_others_of_their_address_nothing(self):
        """Neither those between two requests, nor those that send a large one as fast as they can."""
        with Server(lamina, [sentences], "--connections-per-address", 100) as server:
            def ask(connection):
                connection.sendall(probe)
                self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 200"))
            idle, sending = [self.connect(server) for _ in range(5)], self.connect(server)
            for each in idle:
                ask(each)
            size = 2 * MIB
            sending.sendall(post + b"Content-Length: %d\r\n\r\n" % (size + len(right)))
            crowd = []
            for _ in range(64): # 5 seconds
                for _ in range(5):
                    crowd.append(self.connect(server))
                    crowd[-1].sendall(post[:30])
                sending.sendall(b" " * (size // 64))
                time.sleep(0.08)
            sending.sendall(right)
            self.assertTrue(sending.recv(4096).startswith(b"HTTP/1.1 200"))
            for each in idle:
                ask(each)
            closed = [each for each in crowd if self.has_ended(each)]
            self.assertEqual(len(closed), len(crowd) - (100 - 6))
            self.assertEqual(closed, crowd[:len(closed)])

    def has_ended(self, connection):
        """Whether the server has ended it, without an answer."""
        connection.setblocking(False)
        try:
            return connection.recv(1) == b""
        except BlockingIOError:
            return False

    def test_what_does_not_come_in_time_is_refused(self):
        began, took = time.monotonic(), {}

        def drip(name, first, byte):
            connection, answered = self.connect(), b""
            connection.settimeout(0.5)
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                connection.sendall(first)
                while time.monotonic() - began < 50:
                    with contextlib.suppress(TimeoutError):
                        piece = connection.recv(4096)
                        answered += piece
                        if not piece:
                            break
                    connection.sendall(byte)
            took[name] = (time.monotonic() - began, answered.split(b"\r\n")[0])

        slow = {"head": (b"GET / HTTP/1.1\r\nX: ", b"x"), "body": (post + b"Content-Length: 100000\r\n\r\n", b" "),
                "chunks": (post + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"), "nothing": (b"", b"")}
        threads = [threading.Thread(target=drip, args=(name, *bytes_)) for name, bytes_ in slow.items()]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        for name, seconds in [("head", 10), ("body", 20), ("chunks", 20), ("nothing", 10)]:
            with self.subTest(name):
                self.assertLess(abs(took[name][0] - seconds), 6)
                self.assertEqual(took[name][1], b"" if name == "nothing" else b"HTTP/1.1 408 Request Timeout")

    def test_who_does_not_read_is_not_sent_more(self):
        with others_are_served(self, self.server):
            connection, sent = self.connect(), 0
            connection.settimeout(1)
            with contextlib.suppress(TimeoutError):
                while sent < 256 * MIB:
                    sent += connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
            self.assertLess(sent, 256 * MIB)

    # ---- Clients that send too much ----

    def test_floods_are_cut_off(self):
        for name, piece, status in [
                ("headers", b"X-Header: of a flood of headers, which has no end\r\n" * 100, " 431 "),
                ("one header", b"x" * 10000, " 431 "), ("empty headers", b"a:\r\n" * 1000, " 431 ")]:
            with self.subTest(name), others_are_served(self, self.server):
                self.assertRegex(self.send_until_ended(piece), f"{status}|^$")
        with others_are_served(self, self.server):
            self.assertIn(" 431 ", self.answer(post + b"a:\r\n" * 200 + b"\r\n"))
            self.assertIn(" 414 ", self.answer(b"GET /" + b"a" * 20000))
            self.assertRegex(self.answer(b"GET /" + b"a" * (8 * MIB)), " 414 |^$")

    def test_chunks_carry_little_beside_the_body(self):
        start = b"Transfer-Encoding: chunked\r\n\r\n"
        for name, first, piece in [("an extension", start + b"1;", b"x" * 10000), ("a size", start, b"0" * 10000),
                                   ("extensions", start, b"1;" + b"x" * 200 + b"\r\n \r\n"),
                                   ("trailers", start + b"0\r\n", b"X: y\r\n" * 1000)]:
            with self.subTest(name), others_are_served(self, self.server):
                connection = self.connect()
                sent = 0
                with contextlib.suppress(OSError):
                    connection.sendall(post + first)
                    while sent < 64 * MIB:
                        sent += connection.send(piece)
                self.assertLess(sent, 64 * MIB)
                self.assertRegex(self.all_of(connection).decode(), "^HTTP/1.1 400 |^$")
        self.assertIn(" 400 ", self.answer(post + start + b"1;" + b"x" * 20000))

    def test_bodies_are_not_read_for_those_without_a_key(self):
        with Server(lamina, [sentences], "--api-key", "secret") as server:
            head = post + b"Content-Length: 30000000\r\n"
            self.assertIn(" 401 ", self.answer(head + b"\r\n", server)) # nothing of the body was sent
            found = self.answer(head + b"Expect: 100-continue\r\n\r\n", server)
            self.assertIn(" 401 ", found)
            self.assertNotIn(" 100 ", found)
            before = memory(server)
            forget_peak(server)
            crowd = [self.connect(server) for _ in range(50)]
            for each in crowd:
                with contextlib.suppress(OSError):
                    each.sendall(head + b"\r\n" + b" " * MIB)
            self.assertLess(memory(server, "VmHWM") - before, 16 * MIB)
            self.assertEqual(server.post("/v1/embeddings", right, Authorization="Bearer secret")[0], 200)

    def test_bodies_have_a_limit_together(self):
        with Server(lamina, [sentences], "--max-body", 4, "--max-bodies", 8) as server:
            with others_are_served(self, server, 32 * MIB):
                crowd = [self.connect(server) for _ in range(30)]
                for each in crowd:
                    with contextlib.suppress(OSError):
                        each.sendall(post + b"Content-Length: 4000000\r\n\r\n" + b" " * 3900000)
                until(lambda: len(select.select(crowd, [], [], 0)[0]) == 28) # have been answered: there is room for two
                answer = self.all_of(select.select(crowd, [], [])[0][0]).decode()
                self.assertIn(" 503 ", answer)
                self.assertIn("Retry-After", answer)
                time.sleep(0.5)
                # The two that are left have come to a stop, and give way to one that has just begun.
                latest = self.connect(server)
                latest.sendall(post + b"Content-Length: 4000000\r\n\r\n" + b" " * (4000000 - len(right)) + right)
                self.assertTrue(latest.recv(4096).startswith(b"HTTP/1.1 200"))

    def test_json_takes_no_more_than_its_size_allows(self):
        with others_are_served(self, self.server, 160 * MIB):
            for path, start, unit, end, status in [
                    ("/v1/embeddings", '{"model":"sentences","input":[0', ",0", "]}", {413}),
                    ("/v1/completions", '{"model":"g2p","prompt":"', "w1 ", '"}', {413}),
                    ("/v1/completions", '{"model":"g2p","prompt":"a","stop":["a"', ',"a"', "]}", {413}),
                    ("/v2/models/g2p.encode/infer", '{"inputs":[1', ",1", "]}", {400})]:
                size = (6 if 413 in status else 24) * MIB # what is refused unread is thrown away up to 8 MiB
                body = start + unit * ((size - 100) // len(unit)) + end
                self.assertIn(self.server.post(path, body)[0], status)

    def test_json_of_many_at_once_takes_no_more_than_that_of_few(self):
        body = '{"model":"sentences","input":[' + "0," * (2 * MIB - 100) + "0]}"
        with others_are_served(self, self.server, 320 * MIB), concurrent.futures.ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(self.server.post, "/v1/embeddings", body) for _ in range(16)]
            self.assertEqual({each.result()[0] for each in asked}, {400})

    def test_memory_of_large_bodies_comes_back(self):
        with Server(lamina, [sentences, g2p], "--max-bodies", 128, "--max-body", 32) as server:
            body = b'{"id":"' + b"a" * (31 * MIB) # one string takes the most, and an error that quotes it

            def ask():
                with contextlib.suppress(OSError): # those for which there is no room may be cut off
                    return server.post("/v2/models/g2p.encode/infer", body)[0]

            with others_are_served(self, server, 512 * MIB), concurrent.futures.ThreadPoolExecutor(12) as pool:
                before = memory(server)
                for _ in range(2):
                    asked = {each.result() for each in [pool.submit(ask) for _ in range(12)]}
                    self.assertIn(400, asked)
                    self.assertLessEqual(asked, {400, 503, None})
                until(lambda: memory(server) - before < 48 * MIB)

    def test_what_is_said_of_a_request_is_short(self):
        for path, body in [("/v1/embeddings", {"model": "x" * MIB, "input": "w3"}),
                           ("/v1/embeddings", {"model": "sentences", "input": "w3", "y" * MIB: 1}),
                           ("/v2/models/g2p.encode/infer", {"inputs": [{"name": "z" * MIB}]})]:
            status, _, found = self.server.post(path, body)
            self.assertIn(status, [400, 404])
            self.assertLess(len(json.dumps(found)), 3000)

    def test_outputs_have_a_limit(self):
        with Server(lamina, [g2p], "--max-bodies", 1, "--max-body", 1) as server:
            def infer(texts, binary):
                inputs = [{"name": each["name"], "datatype": "INT32", "shape": [texts] + [20] * (len(each["shape"]) - 1)}
                          for each in server.get("/v2/models/g2p.encode")[2]["inputs"]]
                for each in inputs:
                    each["data"] = [4] * (texts * 20) if len(each["shape"]) == 2 else [20] * texts
                ask = {"inputs": inputs, "parameters": {"binary_data_output": binary}}
                status, headers, body = server.post("/v2/models/g2p.encode/infer", ask)
                return status, len(body) if status == 200 and binary else body
            width = sum(each["shape"][-1] for each in server.get("/v2/models/g2p.encode")[2]["outputs"])
            fits = MIB // (20 * width * 4 * 2)  # the outputs, and the response that is made of them
            status, size = infer(fits, True)
            self.assertEqual(status, 200, size)
            self.assertGreater(size, fits * 20 * width * 4)
            for texts, binary in [(fits + 1, True), (fits, False)]:
                status, body = infer(texts, binary)
                self.assertEqual(status, 400)
                self.assertIn("expected at most 1.0 MiB (the server's --max-bodies)", body["error"])

    def test_a_length_beyond_the_limit_is_refused_at_once(self):
        for length in [b"33554433", b"99999999999999999"]:
            self.assertIn(" 413 ", self.answer(post + b"Content-Length: " + length + b"\r\n\r\n"))
        for length in [b"-1", b"0x10", b"99999999999999999999999", b"", b"1 1"]:
            self.assertIn(" 400 ", self.answer(post + b"Content-Length: " + length + b"\r\n\r\n"))

    # ---- Requests that two readers may understand differently ----

    def test_a_body_has_one_length(self):
        size = str(len(right)).encode()
        for lines in [b"Content-Length: " + size + b"\r\nContent-Length: " + size,
                      b"Content-Length: " + size + b"\r\nContent-Length: 0", b"Content-Length: " + size + b", " + size,
                      b"Content-Length: " + size + b"\r\nTransfer-Encoding: chunked",
                      b"Transfer-Encoding: chunked\r\nContent-Length: " + size,
                      b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked",
                      b"Transfer-Encoding: chunked, gzip", b"Transfer-Encoding: gzip", b"Host: localhost",
                      b"Transfer-Encoding : chunked"]:
            with self.subTest(lines):
                found = self.answer(post + lines + b"\r\n\r\n" + right)
                self.assertRegex(found, "^HTTP/1.1 (400|501) ")
                self.assertEqual(found.count("HTTP/1.1 "), 1) # nothing behind it is taken for a request

    def test_what_is_not_http_is_refused(self):
        hello = bytes.fromhex("16030100a5010000a10303") + bytes(range(150))
        for request in [hello, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0" * 1000, b"GET / HTTP/1.1\r\nno header\r\n\r\n",
                        b"GET / HTTP/1.1\r\nA\0B: c\r\n\r\n", b"GET\x01/ HTTP/1.1\r\n\r\n", b"{}\r\n\r\n",
                        b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                        post + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n"]:
            with self.subTest(request):
                self.assertRegex(self.answer(request), "^HTTP/1.1 400 ")

    def test_compressed_bodies_are_refused(self):
        self.assertEqual(self.server.post("/v1/embeddings", right, **{"Content-Encoding": "gzip"})[0], 415)

    def test_an_output_is_given_once(self):
        names = [each["name"] for each in self.server.get("/v2/models/g2p.encode")[2]["outputs"]]
        inputs = [{"name": each["name"], "shape": [1, 3] if len(each["shape"]) == 2 else [1], "datatype": "INT32",
                   "data": [4, 5, 6] if len(each["shape"]) == 2 else [3]}
                  for each in self.server.get("/v2/models/g2p.encode")[2]["inputs"]]
        ask = {"inputs": inputs, "outputs": [{"name": names[0]}]}
        self.assertEqual(self.server.post("/v2/models/g2p.encode/infer", ask)[0], 200)
        ask["outputs"] *= 2
        status, _, body = self.server.post("/v2/models/g2p.encode/infer", ask)
        self.assertEqual(status, 400)
        self.assertIn("/outputs/1/name: this output is asked for twice", body["error"])

    # ---- What every client may do ----

    def test_pipelined_requests_are_answered_in_order(self):
        requests = b"".join(b"GET /nothing/%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % i +
                            post + b"Content-Length: %d\r\n\r\n" % len(right) + right for i in range(50))
        connection = self.connect()
        connection.sendall(requests + b"GET /v2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        found = self.all_of(connection).decode()
        self.assertEqual(found.count("HTTP/1.1 200"), 51)
        self.assertEqual([int(n) for n in re.findall(r"there is no /nothing/(\d+) ", found)], list(range(50)))

    def test_ranges_are_ignored(self):
        whole = self.server.get("/")
        for ranges in ["bytes=0-9", "bytes=" + ",".join(["0-"] * 1000)]:
            status, headers, body = self.server.get("/", Range=ranges)
            self.assertEqual((status, headers["Content-Range"], body), (200, None, whole[2]))

    def test_a_client_that_ends_its_side_is_still_answered(self):
        connection = self.connect()
        connection.sendall(probe * 3)
        connection.shutdown(socket.SHUT_WR)
        self.assertEqual(self.all_of(connection).count(b"HTTP/1.1 200"), 3)

    def test_a_client_that_waits_for_100_continue_is_told(self):
        connection = self.connect()
        connection.sendall(post + b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % len(right))
        self.assertEqual(connection.recv(4096), b"HTTP/1.1 100 Continue\r\n\r\n")
        connection.sendall(right)
        self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 200"))
        self.assertIn(" 417 ", self.answer(post + b"Content-Length: 1\r\nExpect: a miracle\r\n\r\n"))

    def test_head_is_get_without_a_body(self):
        connection = self.connect()
        connection.sendall(b"HEAD /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n" +
                           b"HEAD / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        found = self.all_of(connection).decode()
        self.assertEqual([int(n) > 0 for n in re.findall(r"Content-Length: (\d+)", found)], [True, True])
        self.assertTrue(found.endswith("\r\n\r\n"))
        self.assertNotIn("{", found)

    def test_a_port_has_one_server(self):
        with self.assertRaisesRegex(RuntimeError, "cannot listen on 127.0.0.1:"):
            Server(lamina, [sentences], "--port", self.server.port)

    def test_ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("this machine has no IPv6")
        with Server(lamina, [sentences], "--host", "::1") as server:
            with socket.create_connection(("::1", server.port), timeout=30) as connection:
                connection.sendall(probe)
                self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 200"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
