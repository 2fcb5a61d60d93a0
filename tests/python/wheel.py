"""Tries an installed wheel: every library that it brings, and kernels on the CPU and on lavapipe."""

import pathlib
import platform
import shutil
import struct
import tempfile
import wave
import zlib

import lamina

folder = pathlib.Path(tempfile.mkdtemp())
tests = pathlib.Path(__file__).resolve().parents[1]


def write_png(path, width, height):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\x80" * 3 * width) * height
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    return path


def write_wav(path, samples):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(8000)
        file.writeframes(b"\0\x10" * samples)
    return path


# Debian 11's driver is older than Vulkan 1.1. On 64-bit Arm, the compiler of Debian 12's ends the process (LLVM 15: cannot
# select AArch64ISD::VLSHR).
unusable = ["LLVM 11", "LLVM 15"] if platform.machine() == "aarch64" else ["LLVM 11"]
drives = not any(version in each.name for version in unusable for each in lamina.devices())
for device in ("cpu", "vulkan:0") if drives else ("cpu",):
    model = lamina.load(lamina.models / "g2p", device=device)
    assert model.generate("vulkan") == "V AH1 L K AH0 N"
    lamina.check("softmax", device=device).assert_passed()
assert len(lamina.read_audio(write_wav(folder / "a.wav", 100)).samples) == 100
assert lamina.read_image(write_png(folder / "a.png", 7, 5)).width == 7
shutil.copytree(tests / "architectures" / "models" / "t5", folder / "t5")
for file in (tests / "architectures" / "sentencepiece" / "t5").iterdir():
    shutil.copy(file, folder / "t5")
(folder / "t5" / "tokenizer.json").unlink(missing_ok=True)
assert lamina.load(folder / "t5", device="cpu").tokenize("a text")
if drives:
    linear = lamina.check("linear", device="vulkan:0", variants=["matrix"], own_cases_only=True)
    # Kernels with cooperative matrices are there, though few devices have these.
    assert "matrix" in {each.variant for each in linear.results}
tried = [each.name for each in lamina.devices() if each.id == "cpu" or drives]
print(lamina.__version__, "works on", ", ".join(tried))
