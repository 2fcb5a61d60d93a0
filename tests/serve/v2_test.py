#!/usr/bin/env python3
"""Asks `lamina serve` as the Open Inference Protocol has it."""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from server import Server, repository, server_of

lamina = sys.argv.pop(1)
g2p = repository / "models" / "g2p"


class OpenInference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server_of(cls, lamina, [g2p])

    def test_says_what_there_is(self):
        self.assertEqual(self.server.get("/v2")[2]["extensions"], ["binary_tensor_data"])
        self.assertEqual(self.server.get("/v2/health/live")[0], 200)
        self.assertEqual(self.server.get("/health")[0], 200)
        self.assertEqual(self.server.get("/v2/health/ready")[0], 200)
        self.assertEqual(self.server.get("/v2/models/g2p.encode/ready")[0], 200)
        _, _, body = self.server.get("/v2/models/g2p.encode")
        self.assertEqual(body["inputs"][0], {"name": "letters", "datatype": "INT32", "shape": [-1, -1]})
        status, _, body = self.server.get("/v2/models/g2p")
        self.assertEqual((status, list(body)), (404, ["error"]))
        self.assertIn("g2p.encode", body["error"])

    def test_gives_the_tensors_of_a_graph(self):
        names = [each["name"] for each in self.server.get("/v2/models/g2p.encode")[2]["inputs"]]
        self.assertEqual(names[0], "letters")
        request = {"id": "x", "inputs": [{"name": "letters", "shape": [1, 3], "datatype": "INT32", "data": [4, 5, 6]}]}
        request["inputs"] += [{"name": name, "shape": [1], "datatype": "INT32", "data": [3]} for name in names[1:]]
        status, _, body = self.server.post("/v2/models/g2p.encode/infer", request)
        self.assertEqual(status, 200, body)
        self.assertEqual(body["id"], "x")
        for output in body["outputs"]:
            count = 1
            for dim in output["shape"]:
                count *= dim
            self.assertEqual(len(output["data"]), count)

        request["parameters"] = {"binary_data_output": True}
        status, headers, raw = self.server.post("/v2/models/g2p.encode/infer", request)
        split = int(headers["Inference-Header-Content-Length"])
        first = json.loads(raw[:split])["outputs"][0]
        values = struct.unpack_from(f"<{len(body['outputs'][0]['data'])}f", raw, split)
        self.assertEqual(first["parameters"]["binary_data_size"], 4 * len(values))
        self.assertEqual(list(values), body["outputs"][0]["data"])

        request["inputs"][0]["data"] = [4, 5, 999999]
        status, _, body = self.server.post("/v2/models/g2p.encode/infer", request)
        self.assertEqual(status, 400, body)
        self.assertIn("letters", body["error"])

    def test_ends_what_nobody_waits_for_any_more(self):
        with tempfile.TemporaryDirectory() as folder:
            deep = pathlib.Path(folder) / "deep"
            subprocess.run([lamina, "init", deep, "--arch", "encoder", "--vocab", "5", "--d-model", "16", "--heads", "2",
                            "--layers", "120", "--max-len", "20000"], check=True, capture_output=True)
            def ask(server, tokens):
                inputs = [("source", [1, tokens], [3] * tokens), ("source_lengths", [1], [tokens])]
                return server.post("/v2/models/deep/infer", {"inputs": [
                    {"name": name, "shape": shape, "datatype": "INT32", "data": data} for name, shape, data in inputs]})[0]

            with Server(lamina, [deep], "--timeout", "1") as server:
                began = time.monotonic()
                self.assertEqual(ask(server, 20000), 504)
                while ask(server, 3) != 200: # waits until the engine has ended the other
                    self.assertLess(time.monotonic() - began, 30)
                self.assertLess(time.monotonic() - began, 10) # all of it would take a minute and a half on two cores


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
