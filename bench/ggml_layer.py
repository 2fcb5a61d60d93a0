"""An encoder layer as a graph of ggml, the library behind llama.cpp, through its C functions. encoder_layer.py runs it.

The layer is written as llama.cpp writes BERT: one product for queries, keys and values. All tensors are f32, and ggml's
kernels for f16 and for cooperative matrices, which round to f16, are turned off.
"""

import ctypes
import os
import pathlib
import sys

f32 = 0  # GGML_TYPE_F32
precise = 10  # GGML_PREC_F32


class InitParams(ctypes.Structure):
    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


class Library:
    """Finds a function in whichever of ggml's libraries has it. An argument is a number, a pointer or a c_float."""

    def __init__(self, device):
        # libggml-python has the CPU's kernels, compiled for this machine; cyllama-vulkan those for Vulkan.
        pattern = "libggml/lib*" if device is None else "cyllama_vulkan.libs"
        prefix = pathlib.Path(sys.prefix) / ("" if device is None else "vulkan")
        folder = next(prefix.glob(f"lib/python*/site-packages/{pattern}"), None)
        if folder is None:
            raise SystemExit(f"no {pattern} in {prefix}: bench/environment installs it")
        self.parts = [ctypes.CDLL(str(next(folder.glob(f"libggml-{part}*.so*"))), ctypes.RTLD_GLOBAL)
                      for part in ("base", "cpu" if device is None else "vulkan")]

    def __getattr__(self, name):
        function = next(getattr(part, f"ggml_{name}") for part in self.parts if hasattr(part, f"ggml_{name}"))
        function.restype = ctypes.c_void_p

        def call(*arguments):
            return function(*(ctypes.c_void_p(each) if isinstance(each, int) else each for each in arguments))

        setattr(self, name, call)
        return call


class Layer:
    """The graph for `rows` positions, with memory on a device: None is the CPU, a number one of Vulkan's."""

    def __init__(self, weights, rows, heads, device, flash):
        if device is not None:  # ggml does not use software drivers unless their number is given
            os.environ["GGML_VK_VISIBLE_DEVICES"] = str(device)
        for feature in ("F16", "COOPMAT", "COOPMAT2"):
            os.environ[f"GGML_VK_DISABLE_{feature}"] = "1"
        self.ggml = ggml = Library(device)
        self.backend = ggml.backend_cpu_init() if device is None else ggml.backend_vk_init(0)
        if not self.backend:
            raise SystemExit(f"ggml finds no Vulkan device {device}")
        if device is None:
            ggml.backend_cpu_set_n_threads(self.backend, os.cpu_count())
        self.rows, self.channels = rows, weights["norm1.weight"].size
        self.heads, self.flash = heads, flash

        # What is stored before a run, and what a run computes, which is placed in memory by its lifetimes.
        self.stored, self.computed = (ggml.init(InitParams(1 << 20, None, True)) for _ in range(2))
        self.x = ggml.new_tensor_2d(self.stored, f32, self.channels, rows)
        self.weights = {name: ggml.new_tensor_2d(self.stored, f32, each.shape[-1], each.size // each.shape[-1])
                        for name, each in weights.items()}
        ggml.backend_alloc_ctx_tensors(self.stored, self.backend)
        for name, each in weights.items():
            self.store(self.weights[name], each)
        self.y = self.layer(self.x)
        ggml.set_output(self.y)
        self.graph = ggml.new_graph(self.computed)
        ggml.build_forward_expand(self.graph, self.y)
        memory = ggml.gallocr_new(ggml.backend_get_default_buffer_type(self.backend))
        ggml.gallocr_alloc_graph(memory, self.graph)

    def store(self, tensor, array):
        self.ggml.backend_tensor_set(tensor, ctypes.c_void_p(array.ctypes.data), 0, array.nbytes)

    def run(self, x):
        """x and the result are arrays of `rows` by channels."""
        import numpy

        y = numpy.empty((self.rows, self.channels), numpy.float32)
        self.store(self.x, x)
        status = self.ggml.backend_graph_compute(self.backend, self.graph)
        if status:
            raise SystemExit(f"ggml_backend_graph_compute: status {status}")
        self.ggml.backend_tensor_get(self.y, ctypes.c_void_p(y.ctypes.data), 0, y.nbytes)
        return y

    # ---- The graph. ggml's sizes are in reverse: ne[0] is that of the values next to each other. ----

    def layer(self, x):
        normed = self.norm(self.add(self.attention(x), x), "norm1")
        hidden = self.ggml.relu(self.computed, self.linear(normed, "linear1.weight", "linear1.bias"))
        return self.norm(self.add(self.linear(hidden, "linear2.weight", "linear2.bias"), normed), "norm2")

    def attention(self, x):
        ggml, into, size = self.ggml, self.computed, self.channels // self.heads
        together = self.linear(x, "self_attn.in_proj_weight", "self_attn.in_proj_bias")
        row = 4 * self.channels
        q, k, v = (ggml.view_3d(into, together, size, self.heads, self.rows, 4 * size, 3 * row, part * row)
                   for part in range(3))
        q, k = (ggml.permute(into, each, 0, 2, 1, 3) for each in (q, k))  # heads outermost
        scale, no_bias = ctypes.c_float(size ** -0.5), ctypes.c_float(0)
        if self.flash:
            v = ggml.permute(into, v, 0, 2, 1, 3)
            mixed = ggml.flash_attn_ext(into, q, k, v, None, scale, no_bias, no_bias)
            ggml.flash_attn_ext_set_prec(mixed, precise)
            mixed = ggml.reshape_2d(into, mixed, self.channels, self.rows)
        else:
            q, k = (ggml.cont(into, each) for each in (q, k))  # Vulkan's product would make f16 of them
            weights = ggml.soft_max_ext(into, self.product(k, q), None, scale, no_bias)
            v = ggml.cont(into, ggml.permute(into, v, 1, 2, 0, 3))
            mixed = ggml.permute(into, self.product(v, weights), 0, 2, 1, 3)
            mixed = ggml.cont_2d(into, mixed, self.channels, self.rows)
        return self.linear(mixed, "self_attn.out_proj.weight", "self_attn.out_proj.bias")

    def linear(self, x, weight, bias):
        return self.add(self.product(self.weights[weight], x), self.weights[bias])

    def product(self, a, b):
        made = self.ggml.mul_mat(self.computed, a, b)
        self.ggml.mul_mat_set_prec(made, precise)
        return made

    def norm(self, x, name):
        scaled = self.ggml.mul(self.computed, self.ggml.norm(self.computed, x, ctypes.c_float(1e-5)),
                               self.weights[f"{name}.weight"])
        return self.add(scaled, self.weights[f"{name}.bias"])

    def add(self, a, b):
        return self.ggml.add(self.computed, a, b)
