"""An encoder layer on Lamina, ncnn, ggml and PyTorch: 512 channels, 8 heads, 2048 hidden, f32, one sequence.

    bench/environment
    build/bench/bin/python bench/encoder_layer.py build/bin/lamina
    build/bench/bin/python bench/encoder_layer.py build/bin/lamina --vulkan 0

Every program gets the same weights and the same input, and its result is compared with PyTorch's. The programs run in
turns, each time in a new process, which runs the layer until a second has passed and gives the median. With --vulkan N,
Lamina, ncnn and ggml run on that Vulkan device, and PyTorch, which has no Vulkan, on the CPU. The threads of PyTorch and
ncnn sleep while they wait (OMP_WAIT_POLICY=passive): on few cores PyTorch is slower without. Those of ggml do not, which
is faster. ggml runs with flash attention if that is faster. Use an idle machine.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

channels, heads, hidden = 512, 8, 2048
tools = pathlib.Path(__file__).resolve().parent.parent / "tools"


# ---- The layer in the format of each program ----


def make_layer(folder):
    import torch

    torch.manual_seed(1)
    module = make_module(torch)
    torch.save(module.state_dict(), folder / "layer.pt")
    subprocess.run([sys.executable, tools / "from_torch.py", folder / "layer.pt", folder / "lamina", "--heads", str(heads),
                    "--mask", "none"], check=True, stderr=subprocess.DEVNULL)
    write_ncnn(folder, {name.removeprefix("layers.0."): tensor.numpy() for name, tensor in module.state_dict().items()})
    return module


def write_ncnn(folder, weights):
    """ncnn's graph, and its weights in the order of the graph. A matrix begins with 0, which says that it is f32."""
    square, wide = channels * channels, channels * hidden
    (folder / "ncnn.param").write_text(f"""7767517
10 12
Input x 0 1 x
Split split_x 1 2 x x1 x2
MultiHeadAttention attention 1 1 x1 attention 0={channels} 1={heads} 2={square} 3={channels} 4={channels}
BinaryOp add_x 2 1 attention x2 attended 0=0
LayerNorm norm1 1 1 attended normed 0={channels} 1=1e-5 2=1
Split split_normed 1 2 normed n1 n2
InnerProduct up 1 1 n1 up 0={hidden} 1=1 2={wide} 9=1
InnerProduct down 1 1 up down 0={channels} 1=1 2={wide}
BinaryOp add_normed 2 1 down n2 fed 0=0
LayerNorm norm2 1 1 fed y 0={channels} 1=1e-5 2=1
""")
    with open(folder / "ncnn.bin", "wb") as file:
        def product(matrix, bias):
            file.write(bytes(4) + matrix.tobytes() + bias.tobytes())

        for part in range(3): # queries, keys, values
            rows = slice(part * channels, (part + 1) * channels)
            product(weights["self_attn.in_proj_weight"][rows], weights["self_attn.in_proj_bias"][rows])
        product(weights["self_attn.out_proj.weight"], weights["self_attn.out_proj.bias"])
        for name, is_norm in (("norm1", True), ("linear1", False), ("linear2", False), ("norm2", True)):
            weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
            file.write(weight.tobytes() + bias.tobytes()) if is_norm else product(weight, bias)


# ---- What runs in a process of its own: prints the median of about a second, and compares the result ----


def measured(run):
    run(), run()
    times, end = [], time.perf_counter() + 1
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times), result


def run_torch(folder, x, device):
    import torch

    module = make_module(torch)
    module.load_state_dict(torch.load(folder / "layer.pt", weights_only=True))
    tensor = torch.from_numpy(x)
    with torch.inference_mode():
        seconds, y = measured(lambda: module(tensor))
    return seconds, y.numpy()


def make_module(torch):
    layer = torch.nn.TransformerEncoderLayer(channels, heads, hidden, dropout=0, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()


def run_ncnn(folder, x, device):
    import ncnn
    import numpy

    net = ncnn.Net()
    net.opt.num_threads = os.cpu_count()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    net.opt.use_vulkan_compute = device is not None
    if device is not None:
        net.set_vulkan_device(device)
    net.load_param(str(folder / "ncnn.param"))
    net.load_model(str(folder / "ncnn.bin"))

    def run():
        extractor = net.create_extractor()
        extractor.input("x", ncnn.Mat(x[0]).clone())
        return numpy.array(extractor.extract("y")[1])

    return measured(run)


def run_ggml(folder, x, device):
    import ggml_layer
    import torch

    state = torch.load(folder / "layer.pt", weights_only=True)
    weights = {name.removeprefix("layers.0."): tensor.numpy() for name, tensor in state.items()}

    def layer(flash):
        made = ggml_layer.Layer(weights, x.shape[1], heads, device, flash)
        made.run(x[0]), made.run(x[0])
        begin = time.perf_counter()
        made.run(x[0])
        return time.perf_counter() - begin, flash, made

    _, flash, fastest = min(layer(False), layer(True))
    print(f"ggml: {'with' if flash else 'without'} flash attention, {x.shape[1]} positions")
    return measured(lambda: fastest.run(x[0]))


def expect_same(program, y, folder, rows):
    import numpy

    expected = numpy.load(folder / f"y{rows}.npy")
    error = float(abs(y.reshape(expected.shape) - expected).max())
    if not error < 1e-4: # f32 all through; with values that were rounded to f16 it is at least 4e-4
        raise SystemExit(f"{program}: the result differs from PyTorch's by {error}")


def one_run(program, folder, rows, device):
    import numpy

    x = numpy.load(folder / f"x{rows}.npy")
    seconds, y = {"PyTorch": run_torch, "ncnn": run_ncnn, "ggml": run_ggml}[program](folder, x, device)
    expect_same(program, y, folder, rows)
    print(json.dumps(seconds))


# ---- All programs in turns ----


def lamina(options, device, *arguments):
    name = "cpu" if device is None else f"vulkan:{device}"
    done = subprocess.run([options.lamina, *arguments, "--device", name], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return done.stdout


def lamina_seconds(options, folder, rows, device):
    rounds = 20 if device is not None else 25_600 // rows  # about a second, too
    out = lamina(options, device, "bench", folder / "lamina", "--input", f"source={folder}/x{rows}.npy", "--rounds",
                 str(rounds), "--json")
    return next(each["median"] for each in json.loads(out)["results"] if each["figure"] == "time of a run")


def check_lamina(options, folder, rows, device):
    import numpy

    lamina(options, device, "run", folder / "lamina", "--input", f"source={folder}/x{rows}.npy", "--output",
           f"memory={folder}/lamina.npy")
    expect_same("Lamina", numpy.load(folder / "lamina.npy"), folder, rows)


def peer_seconds(program, folder, rows, device):
    environment = os.environ if program == "ggml" else {**os.environ, "OMP_WAIT_POLICY": "passive"}
    command = [sys.executable, __file__, "--program", program, str(folder), str(rows)]
    if device is not None:
        command += ["--vulkan", str(device)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{program}: {done.stderr}")
    *notes, seconds = done.stdout.splitlines()
    for note in notes:
        print(note, file=sys.stderr)
    return json.loads(seconds)


def compare(options):
    import numpy
    import torch

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        module = make_layer(folder)
        place = "CPU" if options.vulkan is None else f"vulkan:{options.vulkan}"
        print(f"medians of {options.rounds} rounds, {os.cpu_count()} threads, PyTorch {torch.__version__}\n")
        print("| sequence | program | on | ms | lowest | highest | times as slow as Lamina |\n"
              "| ---: | --- | --- | ---: | ---: | ---: | ---: |")
        for rows in options.rows:
            x = torch.randn(1, rows, channels)
            numpy.save(folder / f"x{rows}.npy", x.numpy())
            with torch.inference_mode():
                numpy.save(folder / f"y{rows}.npy", module(x).numpy())
            check_lamina(options, folder, rows, options.vulkan)
            times = {"Lamina": [], "ncnn": [], "ggml": [], "PyTorch": []}
            for _ in range(options.rounds):
                times["Lamina"].append(lamina_seconds(options, folder, rows, options.vulkan))
                for program in ("ncnn", "ggml", "PyTorch"):
                    device = None if program == "PyTorch" else options.vulkan
                    times[program].append(peer_seconds(program, folder, rows, device))
            own = statistics.median(times["Lamina"])
            for program, all_times in times.items():
                median = statistics.median(all_times)
                where = "CPU" if program == "PyTorch" else place
                print(f"| {rows} | {program} | {where} | {1e3 * median:.1f} | {1e3 * min(all_times):.1f} "
                      f"| {1e3 * max(all_times):.1f} | {median / own:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lamina")
    parser.add_argument("--vulkan", type=int, metavar="N")
    parser.add_argument("--rows", type=int, nargs="+", default=[128, 512], metavar="N", help="lengths of the sequence")
    parser.add_argument("--rounds", type=int, default=5)
    compare(parser.parse_args())


if sys.argv[1:2] == ["--program"]:
    one_run(sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4], int(sys.argv[6]) if len(sys.argv) > 6 else None)
else:
    main()
