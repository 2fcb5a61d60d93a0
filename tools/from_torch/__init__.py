"""Converts trained PyTorch modules into model folders: see ../from_torch.py."""

from .command import arguments, main  # noqa: F401
from .convert import convert  # noqa: F401
from .files import safetensors, texts_of, write  # noqa: F401
from .graph import source_tensors  # noqa: F401
