#!/usr/bin/env python3
"""Runs examples/ray with two replicas on this machine and kills one of them in the middle.

    ray_test.py LAMINA FOLDER

What the replicas write and answer is compared with what the command `lamina run` prints, in one process.
$LAMINA_RAY_PYTHON is a Python that has lamina and ray[data,serve]; without it the exit status is 77.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

if "LAMINA_RAY_PYTHON" not in os.environ:
    print("SKIPPED: ray: $LAMINA_RAY_PYTHON does not name a Python that has lamina and ray[data,serve]")
    sys.exit(77)
if sys.executable != os.environ["LAMINA_RAY_PYTHON"]:
    os.execv(os.environ["LAMINA_RAY_PYTHON"], [os.environ["LAMINA_RAY_PYTHON"], *sys.argv])

import pyarrow.parquet  # noqa: E402

lamina, folder = sys.argv[1], pathlib.Path(sys.argv[2]).absolute()
repository = pathlib.Path(__file__).resolve().parents[2]
example, model = repository / "examples" / "ray", repository / "models" / "g2p"
cache = folder / "cache"
# Ray has its sockets in the folder, so the path must be short.
environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": "/tmp/lamina-ray-test"}


def words(count):
    """Made-up words, none of them twice."""
    numbers, found = random.Random(1), {}
    while len(found) < count:
        syllables = numbers.randint(1, 4)
        found["".join(numbers.choice("bdfgklmnprstvz") + numbers.choice("aeiou") for _ in range(syllables))] = None
    return list(found)


def expected(lines):
    """What one process makes of lines: pairs of a result and an error, one of them None."""
    told = subprocess.run([lamina, "run", model, "--device", "cpu", "--json", "--on-error", "skip"],
                          input="\n".join(lines), capture_output=True, text=True, timeout=300)
    return [(each.get("output"), each.get("error")) for each in json.loads(told.stdout)]


def wait_for(happened, process, what):
    while not happened():
        assert process.poll() is None, f"the job ended before {what}"
        time.sleep(0.05)


def kill_a_replica():
    """SIGKILL, as from the kernel when memory runs out. Returns its process id."""
    pid = int((cache / "0.lock").read_text())
    assert b"ray::" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes(), "not a replica"
    os.kill(pid, signal.SIGKILL)
    return pid


def map_lines(source, target):
    return [sys.executable, example / "map_lines.py", source, target, "--model", model, "--replicas", "2",
            "--devices", "cpu", "--rows", "150", "--cache", cache]


def check_map_lines():
    lines = words(6000)
    lines[7], lines[3000], lines[4321], lines[-1] = "v4", "", "\ufffd", "h5"
    source, target = folder / "words.txt", folder / "phones"
    source.write_bytes("\n".join(lines).encode().replace("\ufffd".encode(), b"\xff"))

    with open(folder / "map_lines.log", "w") as log:
        job = subprocess.Popen(map_lines(source, target), env=environment, stdout=log, stderr=log)
        wait_for(lambda: len(list(target.glob("part-*"))) >= 5, job, "a replica could be killed")
        kill_a_replica()
        assert len(list(target.glob("part-*"))) < 40, "the replica was killed too late"
        assert job.wait(300) == 3, "there are lines that cannot be answered" # as of `lamina run --on-error skip`

    wanted = expected(lines)
    found = pyarrow.parquet.read_table(target).to_pydict()
    assert found["line"] == list(range(1, 6001)) # nothing is lost, nothing is there twice, the order is the input's
    assert [text for i, text in enumerate(found["text"]) if i != 4321] == lines[:4321] + lines[4322:]
    assert found["result"] == [result for result, _ in wanted]
    bad = [i for i, error in enumerate(found["error"]) if error]
    assert bad == [i for i, (_, error) in enumerate(wanted) if error] == [7, 4321, 5999], bad
    told = (folder / "map_lines.log").read_text()
    assert "\nline 8: 'v4': column 2: '4' is not one of" in told and "\nline 4322: not UTF-8" in told, told

    # The same command does what is missing, and nothing else.
    parts = {path: path.stat().st_mtime_ns for path in sorted(target.glob("part-*"))}
    again = list(parts)[11]
    again.unlink()
    (target / ".part-000011.parquet.elsewhere.1").touch() # of a job that was killed
    subprocess.run(map_lines(source, target), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    changed = [path for path in sorted(target.glob(".part-*")) + sorted(target.glob("part-*"))
               if parts.get(path) != path.stat().st_mtime_ns]
    assert changed == [again], changed
    assert pyarrow.parquet.read_table(target).to_pydict() == found

    # Another job does not write into the same folder.
    source.write_bytes(b"hello")
    refused = subprocess.run(map_lines(source, target), env=environment, capture_output=True, text=True)
    assert refused.returncode == 1 and "holds the results of another job (bytes: " in refused.stderr, refused.stderr
    print(f"map_lines: {len(lines)} lines, one of two replicas killed: as one process")


def answers_at(url):
    try:
        return urllib.request.urlopen(url, timeout=5).status == 200
    except OSError:
        return False


def ask(text):
    """The answer to a text; asks again if the replica that had the request died."""
    again = 0
    while True:
        request = urllib.request.Request("http://127.0.0.1:8017", json.dumps({"texts": [text]}).encode())
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return json.load(response)["results"][0], None, again
        except urllib.error.HTTPError as error:
            if error.code == 400:
                return None, json.load(error)["error"], again
            again += 1


def check_serve_model():
    (folder / "serve.yaml").write_text(json.dumps({
        "http_options": {"host": "127.0.0.1", "port": 8017},
        "applications": [{"name": "words", "import_path": "serve_model:app",
                          "args": {"model": str(model), "replicas": "2", "devices": "cpu", "cache": str(cache)}}]}))
    with open(folder / "serve.log", "w") as log:
        server = subprocess.Popen([pathlib.Path(sys.executable).with_name("serve"), "run", folder / "serve.yaml"],
                                  env={**environment, "PYTHONPATH": str(example)}, stdout=log, stderr=log)
        try:
            wait_for(lambda: answers_at("http://127.0.0.1:8017/-/healthz"), server, "it served")
            lines = words(2000)
            lines[1000] = "v4"
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                answers = [pool.submit(ask, line) for line in lines]
                while not answers[300].done():
                    time.sleep(0.01)
                kill_a_replica()
                assert not answers[-1].done(), "the replica was killed too late"
                found = [answer.result() for answer in answers]
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)
    wanted = expected(lines)
    assert [result for result, _, _ in found] == [result for result, _ in wanted]
    errors = [i for i, (_, error, _) in enumerate(found) if error]
    assert errors == [1000] and found[1000][1].startswith("text 1: 'v4'"), found[1000]
    again = sum(again for *_, again in found)
    print(f"serve_model: {len(lines)} requests, one of two replicas killed, {again} asked again: as one process")


sys.stdout.reconfigure(line_buffering=True)
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
check_map_lines()
check_serve_model()
