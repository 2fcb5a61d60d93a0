"""Tests tools/from_torch.py with the installed PyTorch: converts, runs `lamina run`, compares.

    from_torch_test.py LAMINA PLUGINS        exit status 77: there is no PyTorch
"""

import contextlib
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

try:
    import numpy
    import torch
    from torch import nn
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
TOOL = HERE.parent.parent / "tools" / "from_torch.py"
sys.path.insert(0, str(TOOL.parent))
import from_torch  # noqa: E402

LAMINA, PLUGINS = sys.argv[1:3]
B, S, T, C, HEADS = 3, 7, 5, 24, 4
SIZES = {"d_model": C, "nhead": HEADS, "dim_feedforward": 40}


def randomized(module):
    """Weights that are all different: norms of 1 and biases of 0 would hide mistakes."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    return module.eval()


class FromTorch(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(7)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def convert(self, state, *options):
        torch.save(state, self.folder / "state.pt")
        command = [TOOL, self.folder / "state.pt", self.folder / "model", *options]
        command, said = [str(part) for part in command], io.StringIO()
        # In this process, which has imported PyTorch already; test_the_file_alone() starts another process.
        with unittest.mock.patch.object(sys, "argv", command), contextlib.redirect_stderr(said):
            try:
                status = from_torch.main()
            except SystemExit as left:
                status = left.code
        return subprocess.CompletedProcess(command, status, stderr=said.getvalue())

    def refusal(self, state, *options):
        done = self.convert(state, *options)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"\Afrom_torch.py: error: [^\n]+\n\Z")
        self.assertFalse((self.folder / "model").exists())
        return done.stderr

    def run_graph(self, graph, output, **inputs):
        command = [LAMINA, "run", self.folder / "model", "--device", "cpu", "--plugin-dir", PLUGINS, "--graph", graph,
                   "--output", f"{output}={self.folder / 'out.npy'}"]
        for name, tensor in inputs.items():
            numpy.save(self.folder / f"{name}.npy", tensor.detach().numpy())
            command += ["--input", f"{name}={self.folder / name}.npy"]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return torch.from_numpy(numpy.load(self.folder / "out.npy"))

    def check(self, found, expected):
        self.assertEqual(found.shape, expected.shape)
        scale = max(1, expected.abs().max().item())
        self.assertLess((found - expected).abs().max().item(), 1e-5 * scale)

    def assert_converted(self, state, *options):
        done = self.convert(state, *options)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_encoder(self):
        """nn.TransformerEncoder in both norms, both layouts, both activations, with and without a final norm."""
        for norm_first, batch_first, activation, final in (
            (False, False, "relu", None), (False, True, "gelu", nn.LayerNorm(C)),
            (True, False, "gelu", nn.LayerNorm(C)), (True, True, "relu", None),
        ):
            with self.subTest(norm_first=norm_first, batch_first=batch_first, activation=activation):
                self.setUp()
                layer = nn.TransformerEncoderLayer(**SIZES, norm_first=norm_first, batch_first=batch_first,
                                                   activation=activation)
                module = randomized(nn.TransformerEncoder(layer, 3, final))
                options = ["--heads", HEADS, "--activation", activation]
                options += ["--norm-first"] * norm_first + ["--sequence-first"] * (not batch_first)
                self.assert_converted(module.state_dict(), *options)
                x = torch.randn(B, S, C) if batch_first else torch.randn(S, B, C)
                lengths = torch.tensor([S, 1, 4])
                found = self.run_graph("encode", "memory", source=x, source_lengths=lengths)
                self.check(found, module(x, src_key_padding_mask=torch.arange(S) >= lengths[:, None]))

    def test_decoder(self):
        """nn.TransformerDecoder, causal, whose memory is padded."""
        module = randomized(nn.TransformerDecoder(nn.TransformerDecoderLayer(**SIZES, batch_first=True), 2))
        self.assert_converted(module.state_dict(), "--heads", HEADS)
        x, memory, lengths = torch.randn(B, T, C), torch.randn(B, S, C), torch.tensor([2, S, 5])
        found = self.run_graph("decode", "decoded", target=x, memory=memory, source_lengths=lengths)
        later = torch.ones(T, T, dtype=torch.bool).triu(1)
        self.check(found, module(x, memory, later, memory_key_padding_mask=torch.arange(S) >= lengths[:, None]))

    def test_padding_in_front(self):
        """--mask keys: padding stands anywhere."""
        module = randomized(nn.TransformerEncoder(nn.TransformerEncoderLayer(**SIZES, batch_first=True), 2))
        self.assert_converted(module.state_dict(), "--heads", HEADS, "--mask", "keys")
        x, padding = torch.randn(B, S, C), torch.arange(S) < torch.tensor([0, 2, 5])[:, None]
        self.check(self.run_graph("encode", "memory", source=x, source_mask=(~padding).int()),
                   module(x, src_key_padding_mask=padding))

    def test_transformer_in_a_larger_model(self):
        """nn.Transformer with embeddings, learned positions and a generator, in a checkpoint, under a prefix."""
        transformer = randomized(nn.Transformer(**SIZES, num_encoder_layers=2, num_decoder_layers=1, batch_first=True,
                                                norm_first=True, layer_norm_eps=1e-4))
        table, positions = randomized(nn.Embedding(19, C)), randomized(nn.Embedding(16, C))
        generator = randomized(nn.Linear(C, 19))
        state = {f"net.{key}": tensor for key, tensor in transformer.state_dict().items()}
        state |= {"tokens.weight": table.weight.detach(), "positions.weight": positions.weight.detach()}
        state |= {f"head.{key}": tensor for key, tensor in generator.state_dict().items()}
        self.assert_converted({"epoch": 3, "state_dict": state}, "--entry", "state_dict", "--prefix", "net.", "--heads",
                              HEADS, "--norm-first", "--eps", 1e-4, "--source-embedding", "tokens.weight",
                              "--target-embedding", "tokens.weight", "--embedding-scale", 1, "--positions",
                              "positions.weight", "--generator", "head")
        source, target, lengths = torch.randint(19, (B, S)), torch.randint(19, (B, T)), torch.tensor([S, 3, 6])
        padding, later = torch.arange(S) >= lengths[:, None], torch.ones(T, T, dtype=torch.bool).triu(1)
        embed = lambda ids: table(ids) + positions(torch.arange(ids.shape[1]))  # noqa: E731
        memory = transformer.encoder(embed(source), src_key_padding_mask=padding)
        self.check(self.run_graph("encode", "memory", source=source, source_lengths=lengths), memory)
        keys_and_values = {name: self.run_graph("encode", name, source=source, source_lengths=lengths)
                           for name in from_torch.source_tensors(1)}
        logits = generator(transformer.decoder(embed(target), memory, later, memory_key_padding_mask=padding))
        found = self.run_graph("decode", "log_probabilities", target=target, source_lengths=lengths,
                               position=torch.zeros(B, dtype=torch.int32), **keys_and_values)
        self.check(found, logits.log_softmax(-1))

    def test_half_precision(self):
        """Matrices in float16 or bfloat16: the model computes with the rounded weights."""
        for dtype in (torch.float16, torch.bfloat16):
            with self.subTest(dtype=dtype):
                self.setUp()
                layer = nn.TransformerEncoderLayer(**SIZES, batch_first=True)
                module = randomized(nn.TransformerEncoder(layer, 1))
                self.assert_converted(module.state_dict(), "--heads", HEADS, "--mask", "none", "--dtype",
                                      str(dtype).split(".")[1])
                with torch.no_grad():
                    for parameter in module.parameters():
                        if parameter.dim() > 1:
                            parameter.copy_(parameter.to(dtype).to(torch.float32))
                x = torch.randn(B, S, C)
                self.check(self.run_graph("encode", "memory", source=x), module(x))

    def test_refusals(self):
        """Models that cannot be converted are refused with a reason, and nothing is written."""
        module = nn.TransformerEncoder(nn.TransformerEncoderLayer(**SIZES), 1)
        state = module.state_dict()
        self.assertIn("--heads 5: expected a divisor of d_model, which is 24", self.refusal(state, "--heads", 5))
        self.assertIn("left over: extra; name embeddings",
                      self.refusal({**state, "extra": torch.zeros(3)}, "--heads", HEADS))
        self.assertIn("no 'layers.0.'", self.refusal(nn.Linear(2, 2).state_dict(), "--heads", HEADS))
        self.assertIn("no 'nowhere.weight'",
                      self.refusal(state, "--heads", HEADS, "--source-embedding", "nowhere.weight"))
        self.assertIn("with --entry: state_dict", self.refusal({"state_dict": state}, "--heads", HEADS))
        self.assertIn("no tensor begins with 'net.'", self.refusal(state, "--heads", HEADS, "--prefix", "net."))
        missing = {name: tensor for name, tensor in state.items() if name != "layers.0.linear2.weight"}
        self.assertIn("no 'layers.0.linear2.weight'", self.refusal(missing, "--heads", HEADS))

    def larger_model(self):
        """The state of a model around an encoder, as in PyTorch's tutorials, and its modules."""
        modules = {"emb": nn.Embedding(19, C), "enc": nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**SIZES, batch_first=True), 2), "head": nn.Linear(C, 19)}
        state = {f"{name}.{key}": t for name, module in modules.items()
                 for key, t in randomized(module).state_dict().items()}
        return {**state, "pos": torch.randn(1, 16, C)}, modules

    PARTS = ("--heads", HEADS, "--prefix", "enc.", "--source-embedding", "emb.weight", "--generator", "head")

    def test_outside_the_prefix(self):
        """Tensors outside the module are converted, too, or ignored by name."""
        state, modules = self.larger_model()
        self.assertIn("left over: pos;", self.refusal(state, *self.PARTS))
        self.assertIn("--ignore po: no tensor", self.refusal(state, *self.PARTS, "--ignore", "po"))
        self.assertIn("--ignore enc.*: no tensor",
                      self.refusal(state, *self.PARTS, "--positions", "pos", "--ignore", "enc.*"))
        self.assert_converted(state, *self.PARTS, "--ignore", "p[o]s")
        self.setUp()
        self.assert_converted(state, *self.PARTS, "--positions", "pos", "--mask", "none")
        tokens = torch.randint(19, (B, S))
        expected = modules["enc"](modules["emb"](tokens) * C ** 0.5 + state["pos"][:, :S])
        self.check(self.run_graph("encode", "memory", source=tokens.int()), expected)

    def test_one_module_of_a_model(self):
        """--prefix alone converts a module on vectors, and reports what it leaves out."""
        state, modules = self.larger_model()
        done = self.convert(state, "--heads", HEADS, "--prefix", "enc.", "--mask", "none")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("left out: emb.weight, head.bias, head.weight, pos\n", done.stderr)
        x = torch.randn(B, S, C)
        self.check(self.run_graph("encode", "memory", source=x), modules["enc"](x))
        self.setUp()
        self.assertIn("left over: enc.more;", self.refusal({**state, "enc.more": torch.zeros(1)}, "--heads", HEADS,
                                                           "--prefix", "enc."))

    def vocabulary(self, tokens):
        (self.folder / "tokens.txt").write_text("".join(f"{token}\n" for token in tokens))
        return self.folder / "tokens.txt"

    def test_language_model(self):
        """nn.TransformerEncoder with a causal mask: a decoder that generates what PyTorch finds likeliest."""
        state, modules = self.larger_model()
        tokens = ["<s>", "</s>", *"abcdefghijklmnopq"]
        self.assert_converted(state, *self.PARTS, "--positions", "pos", "--causal-encoder", "--target-vocab",
                              self.vocabulary(tokens), "--max-length", 9)

        def log_probabilities(ids):
            later = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(1)
            x = modules["emb"](ids) * C ** 0.5 + state["pos"][:, :ids.shape[1]]
            return modules["head"](modules["enc"](x, later)).log_softmax(-1)

        target = torch.randint(19, (B, T))
        found = self.run_graph("decode", "log_probabilities", target=target.int(),
                               position=torch.zeros(B, dtype=torch.int32))
        self.check(found, log_probabilities(target))
        for prompt in ("", "a", "d e f", "q p o n m l k j i h"):
            written = [0, *map(tokens.index, prompt.split())]
            begin = len(written)
            while len(written) < min(begin + 9, 17) and written[-1] != 1:
                written.append(int(log_probabilities(torch.tensor([written]))[0, -1].argmax()))
            expected = " ".join(tokens[token] for token in written[begin:] if token != 1)
            command = [LAMINA, "run", self.folder / "model", "--device", "cpu", "--plugin-dir", PLUGINS, prompt]
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
            self.assertEqual(done.stdout, f"{prompt}\t{expected}\n", done.stderr)

    def test_language_model_on_vectors(self):
        """--causal-encoder without an embedding; and padding in front, which needs a mask in a language model."""
        # One layer: a query of padding gives NaN in PyTorch, which the next layer would spread.
        module = randomized(nn.TransformerEncoder(nn.TransformerEncoderLayer(**SIZES, batch_first=True), 1))
        self.assert_converted(module.state_dict(), "--heads", HEADS, "--causal-encoder")
        x, later = torch.randn(B, S, C), torch.ones(S, S, dtype=torch.bool).triu(1)
        self.check(self.run_graph("decode", "decoded", target=x), module(x, later))
        self.setUp()
        self.assert_converted(module.state_dict(), "--heads", HEADS, "--causal-encoder", "--mask", "keys")
        padding = torch.arange(S) < torch.tensor([0, 2, 5])[:, None]
        found = self.run_graph("decode", "decoded", target=x, target_mask=(~padding).int())
        expected = module(x, later, src_key_padding_mask=padding)
        for row in range(B):
            self.check(found[row, ~padding[row]], expected[row, ~padding[row]])

    def test_translator(self):
        """nn.Transformer with both vocabularies turns text into text."""
        modules = {"net": nn.Transformer(**SIZES, num_encoder_layers=1, num_decoder_layers=1, batch_first=True),
                   "tokens": nn.Embedding(5, C), "head": nn.Linear(C, 5)}
        state = {f"{name}.{key}": t for name, module in modules.items()
                 for key, t in randomized(module).state_dict().items()}
        file = self.vocabulary("<>abc")
        options = ["--heads", HEADS, "--prefix", "net.", "--source-embedding", "tokens.weight", "--target-embedding",
                   "tokens.weight", "--generator", "head", "--target-vocab", file, "--start", "<", "--end", ">"]
        self.assertIn("needs --source-vocab", self.refusal(state, *options))
        self.assert_converted(state, *options, "--source-vocab", file, "--split", "characters", "--max-length", 5)
        command = [LAMINA, "run", self.folder / "model", "--device", "cpu", "--plugin-dir", PLUGINS, "cab"]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        self.assertRegex(done.stdout, r"\Acab\t[abc<]{0,5}\n\Z", done.stderr)

    def test_arguments(self):
        """Arguments that are invalid or have no effect are refused before anything is written."""
        state, _ = self.larger_model()
        for option, value in (("--heads", 0), ("--heads", -4), ("--heads", "x"), ("--eps", -1), ("--eps", "nan"),
                              ("--max-len", 0), ("--embedding-scale", "inf"), ("--name", "bad name"), ("--name", ""),
                              ("--max-length", 0)):
            with self.subTest(option=option, value=value):
                said = self.refusal(state, *self.PARTS, option, value)
                self.assertIn(option, said)
                self.assertIn("expected", said)
                self.assertIn(f"'{value}'", said)
        for options, why in (
            (("--target-embedding", "emb.weight"), "--target-embedding needs a decoder"),
            (("--not-causal",), "--not-causal needs a decoder"),
            (("--start", "a"), "--start needs --target-vocab"),
            (("--source-vocab", "a"), "--source-vocab needs --target-vocab"),
            (("--positions", "pos", "--max-len", 9), "--max-len needs sinusoids"),
            (("--positions", "enc.layers.0.linear2.weight"), "expected rows of d_model, which is 24"),
            (("--positions", "pos", "--target-vocab", self.vocabulary("ab")), "needs a decoder; --causal-encoder makes one"),
        ):
            self.assertIn(why, self.refusal(state, *self.PARTS, *options))
        alone = ("--heads", HEADS, "--prefix", "enc.")
        self.assertIn("--positions pos needs", self.refusal(state, *alone, "--positions", "pos"))
        self.assertIn("--embedding-scale needs", self.refusal(state, *alone, "--embedding-scale", 1))
        text = (*self.PARTS, "--positions", "pos", "--causal-encoder", "--target-vocab")
        nineteen = ["<s>", "</s>", *"abcdefghijklmnopq"]
        for tokens, options, why in (
            (nineteen[:-1], (), "needs a line for each of the 19 rows of the embedding, found 18 lines"),
            (nineteen[1:] + ["x"], (), "--start '<s>' is not in"),
            (nineteen[:-1] + ["a"], (), "line 19: 'a' is already in line 3"),
            (nineteen[:-1] + [""], (), "line 19 is empty"),
            (nineteen, ("--max-length", 16), "--max-length 16: expected 1 to 15"),
            (nineteen, ("--mask", "keys"), "needs --mask lengths, found keys"),
            (nineteen, ("--sequence-first",), "leave out --sequence-first"),
        ):
            self.assertIn(why, self.refusal(state, *text, self.vocabulary(tokens), *options))
        self.assertIn("No such file", self.refusal(state, *text, self.folder / "absent.txt"))

    def test_the_file_alone(self):
        """The tool needs no other file of Lamina; its --help needs no PyTorch, without which it says what is missing."""
        tool = shutil.copy(TOOL, self.folder / "alone.py")
        shutil.copytree(TOOL.with_suffix(""), self.folder / "from_torch")
        torch.save(nn.TransformerEncoder(nn.TransformerEncoderLayer(**SIZES), 1).state_dict(), self.folder / "state.pt")
        command = [sys.executable, tool, self.folder / "state.pt", self.folder / "model", "--heads", str(HEADS)]
        self.assertEqual(subprocess.run(command, capture_output=True).returncode, 0)
        (self.folder / "torch.py").write_text("raise ImportError('No module named torch')\n")
        self.assertEqual(subprocess.run([sys.executable, tool, "--help"], capture_output=True).returncode, 0)
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Afrom_torch.py: error: [^\n]*No module named torch; install[^\n]*\n\Z")

    def test_own_model(self):
        """A model of one's own: the prefix is found, keys and entries are listed, a pickled module is recognized."""
        state, modules = self.larger_model()
        done = self.convert(state, "--heads", HEADS, "--mask", "none")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("took the module at --prefix enc., the only one in the file", done.stderr)
        x = torch.randn(B, S, C)
        self.check(self.run_graph("encode", "memory", source=x), modules["enc"](x))
        self.setUp()
        self.assertIn("try --prefix enc.\n", self.refusal(state, "--heads", HEADS, "--prefix", "encoder."))
        two = {**state, **{f"b.{name}": tensor for name, tensor in state.items()}}
        self.assertIn("choose --prefix b.enc. or --prefix enc.", self.refusal(two, "--heads", HEADS))
        self.assertIn("it has emb.weight, head.bias, head.weight, pos", self.refusal(
            state, "--heads", HEADS, "--prefix", "enc.", "--source-embedding", "tokens"))
        self.assertIn("did you mean 'emb.weight'?", self.refusal(
            state, "--heads", HEADS, "--prefix", "enc.", "--source-embedding", "embed.weight"))
        other = self.refusal(nn.LSTM(C, C).state_dict(), "--heads", HEADS)
        self.assertIn("the file has bias_hh_l0, bias_ih_l0, weight_hh_l0, weight_ih_l0", other)
        checkpoint = {"model": state, "optimizer": {"step": 3}, "epoch": 7}
        listed = "take one of these with --entry: model; there are also optimizer, epoch"
        self.assertIn(listed, self.refusal(checkpoint, "--heads", HEADS))
        self.assertIn("no entry 'net'; " + listed, self.refusal(checkpoint, "--heads", HEADS, "--entry", "net"))
        self.assertIn("torch.save(model.state_dict(), ", self.refusal(modules["enc"], "--heads", HEADS))

    def test_folder(self):
        """A folder that is not empty is not changed."""
        state = nn.TransformerEncoder(nn.TransformerEncoderLayer(**SIZES), 1).state_dict()
        self.assert_converted(state, "--heads", HEADS)
        before = (self.folder / "model" / "model.json").read_bytes()
        done = self.convert(state, "--heads", HEADS, "--norm-first")
        self.assertEqual(done.returncode, 2)
        self.assertIn("not empty; choose another folder", done.stderr)
        self.assertEqual((self.folder / "model" / "model.json").read_bytes(), before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
