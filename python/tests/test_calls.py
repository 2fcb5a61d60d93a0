"""Errors, Ctrl-C, threads, and the end of the process."""

import concurrent.futures
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

import lamina

MANY = ["synchronization", "transformer", "vulkan", "pronunciation"] * 200


def test_errors_have_types_and_codes(g2p, tmp_path):
    with pytest.raises(lamina.InputError, match="nowhere") as raised:
        lamina.load(tmp_path / "nowhere")
    assert raised.value.code == 3 and isinstance(raised.value, (lamina.Error, ValueError))
    with pytest.raises(lamina.NoDeviceError, match="no device 'vulkan:99'; there are:") as raised:
        lamina.load(lamina.models / "g2p", device="vulkan:99")
    assert raised.value.code == 4
    with pytest.raises(lamina.UsageError):
        g2p.embed("vulkan")
    with pytest.raises(lamina.UsageError, match="expected 'full', 'half' or 'int8', found 'f16'"):
        lamina.load(lamina.models / "g2p", precision="f16")
    with pytest.raises(lamina.PluginError, match="did you mean") as raised:
        lamina.check("sofmax", device="cpu")
    assert raised.value.code == 8
    assert lamina.InputError.__module__ == "lamina"
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_model_on_several_devices(g2p):
    others = [device.id for device in lamina.devices() if device.id != "cpu" and not device.unusable]
    if not others:
        pytest.skip("no Vulkan device")
    split = lamina.load(lamina.models / "g2p", device=f"cpu,{others[0]}", split=[6, 2])
    assert split.generate("vulkan") == g2p.generate("vulkan")
    assert [(part.device.id, part.layers) for part in split.parts] == [("cpu", 6), (others[0], 2)]
    assert (split.parts[1].first, split.parts[1].last) == ("decoder.2", "decoder.3")
    roomy = lamina.load(lamina.models / "g2p", device=f"cpu,{others[0]}", max_memory=[1 << 20])
    assert 0 < roomy.parts[0].layers < 8 and roomy.parts[1].last == "decoder.3"
    assert g2p.parts == []
    with pytest.raises(lamina.UsageError, match="8 in all"):
        lamina.load(lamina.models / "g2p", device=f"cpu,{others[0]}", split=[1, 2])


def test_paths_need_not_be_utf8(tmp_path):
    with pytest.raises(lamina.InputError, match="nowhere"):
        lamina.load(str(tmp_path / "nowhere\udcff"))


@pytest.mark.parametrize(
    "work",
    [
        "model.generate(['synchronization'] * 1000000)",
        "list(model.stream('w7', max_length=1000000))",
        "lamina.check(device='interpreter', thorough=True)",
        "lamina.compare(model, ['synchronization'] * 30, repeat=100000)",
    ],
)
def test_ctrl_c_ends_the_call_and_nothing_else(script, fixture_model, work):
    endless = fixture_model("llama", {"eos_token_id": None, "max_position_embeddings": 1000000})
    folder = f"{str(endless)!r}" if "stream" in work else "lamina.models / 'g2p'"
    program = script(f"""
import lamina
model = lamina.load({folder}, device="cpu")
first = "w7" if "llama" in {folder!r} else "vulkan"
before = model.generate(first, max_length=3)
print("begins")
try:
    {work}
    print("was not interrupted")
except KeyboardInterrupt:
    print("interrupted", model.generate(first, max_length=3) == before)
""")
    assert program.stdout.readline() == "begins\n"
    time.sleep(1)
    program.send_signal(signal.SIGINT)
    out, errors = program.communicate(timeout=300)  # a guard against hangs: most of it is the machine's load
    assert out == "interrupted True\n", errors
    assert program.returncode == 0 and errors == ""


def test_other_threads_run_while_the_device_works(g2p):
    g2p.generate(MANY)  # everything is proved
    gaps = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        began = last = time.monotonic()
        work = pool.submit(g2p.generate, MANY)
        while not work.done():
            time.sleep(0.001)
            now = time.monotonic()
            gaps.append(now - last)
            last = now
    assert len(gaps) > 20
    assert max(gaps) < (last - began) / 4


def test_threads_take_turns_at_a_model_and_work_at_the_same_time_with_several(g2p):
    expected = g2p.generate(MANY[:40])
    other = lamina.load(lamina.models / "g2p", device="cpu")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda i: (g2p, other)[i % 2].generate(MANY[:40]), range(8)):
            assert found == expected


def test_a_thread_that_waits_for_its_turn_can_be_interrupted(script):
    program = script("""
import lamina, threading
model = lamina.load(lamina.models / "g2p", device="cpu")
model.generate("vulkan")
stop = threading.Event()
def go_on(text, piece):
    if stop.is_set(): raise StopIteration
def other():
    try: model.generate(["synchronization"] * 1000000, stream=go_on)
    except (StopIteration, RuntimeError): pass
thread = threading.Thread(target=other)
thread.start()
while not model._turn._is_owned() and model._turn.acquire(blocking=False): model._turn.release()
print("begins")
try: model.generate("vulkan")
except KeyboardInterrupt: print("interrupted")
stop.set()
thread.join()
""")
    assert program.stdout.readline() == "begins\n"
    time.sleep(0.5)
    program.send_signal(signal.SIGINT)
    out, errors = program.communicate(timeout=60)
    assert out == "interrupted\n" and program.returncode == 0, errors


def test_messages_go_to_logging(tmp_path, monkeypatch, caplog):
    unwritable = tmp_path / "file"
    unwritable.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(unwritable))
    model = lamina.load(lamina.models / "g2p", device="cpu", plugin_folders=[tmp_path])  # a runtime of its own
    with caplog.at_level(logging.INFO, "lamina"):
        assert model.generate("vulkan") == "V AH1 L K AH0 N"
    assert any("what was proved is not remembered" in r.message for r in caplog.records if r.levelname == "WARNING")


def test_a_process_ends_while_a_model_is_in_use(script):
    program = script("""
import lamina, threading
model = lamina.load(lamina.models / "g2p", device="cpu")
thread = threading.Thread(target=lambda: model.generate(["vulkan"] * 200))
thread.start()
again = model
stream = model.stream("vulkan")
print(next(stream))
raise SystemExit(3)
""")
    out, errors = program.communicate(timeout=60)
    assert (out, errors, program.returncode) == ("V\n", "", 3)


@pytest.mark.parametrize(
    "way",
    [
        "stream = model.stream('w9', **long); next(stream)",
        "threading.Thread(target=lambda: model.generate('w9', stream=began, **long), daemon=True).start(); inside.wait()",
    ],
)
def test_a_program_ends_although_a_thread_is_in_a_call(way, endless_folder):
    program = f"""
import threading, lamina
model = lamina.load({str(endless_folder)!r}, device="cpu")
inside = threading.Event()
long = dict(max_length=10**6)
def began(*_): inside.set()
{way}
print("ends")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")


def test_a_program_waits_for_threads_that_are_no_daemons():
    program = """
import threading, lamina
model = lamina.load(lamina.models / "g2p", device="cpu")
words = ["synchronization", "vulkan"] * 50
for _ in range(2):
    threading.Thread(target=lambda: print(len(model.generate(words)))).start()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "100\n100\n", "")


def test_a_process_that_was_forked_in_a_call_ends():
    program = """
import multiprocessing, lamina
children = []
def fork(*_):
    if not children:
        children.append(multiprocessing.get_context("fork").Process(target=print, args=("child",), daemon=True))
        children[0].start()
model = lamina.load(lamina.models / "g2p", device="cpu")
model.generate("vulkan", stream=fork)
children[0].join(60)
print(children[0].exitcode)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "child\n0\n", "")
