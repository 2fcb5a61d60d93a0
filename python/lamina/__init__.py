"""Lamina runs transformer models on any Vulkan GPU, and on the CPU where there is no GPU.

>>> import lamina
>>> model = lamina.load(lamina.models / "g2p")
>>> model.generate("vulkan")
'V AH1 L K AH0 N'

`load` gives a `Model`, which generates, embeds, classifies, transcribes, or runs its graphs on arrays. `devices` lists
what it can run on. `check` proves the kernels of layers against their references, and `compare` a whole model.

Errors are `lamina.Error`. Messages go to the logger "lamina".
"""

from pathlib import Path as _Path

from ._errors import (
    DeviceLostError,
    Error,
    InputError,
    NoDeviceError,
    OutOfMemoryError,
    PluginError,
    ToleranceError,
    UnprovenError,
    UsageError,
)
from ._lamina import (
    Answer,
    Audio,
    CaseResult,
    Device,
    Grammar,
    Graph,
    Hypothesis,
    Image,
    LabelScore,
    LayerComparison,
    MaskedWord,
    ModelTensor,
    PageAnswer,
    PageWord,
    RecordComparison,
    RecordedLayer,
    ScoredToken,
    TokenLabels,
    TokenScore,
    Transcript,
    TranscriptPart,
    TranscriptSegment,
    Verdict,
    WordLabels,
    WordScore,
    read_audio,
    read_image,
    read_page_words,
)
from ._lamina import version as __version__
from ._model import Model, Part, load
from ._options import (
    AnswerOptions,
    EmbedOptions,
    FillOptions,
    GenerateOptions,
    ImageOptions,
    MatchOptions,
    PageOptions,
    ReadOptions,
)
from ._pages import Page
from ._proof import CheckReport, Comparison, check, compare, compare_with
from ._runtime import Devices, devices

models = _Path(__file__).parent / "models"
"""The folder of the models that come with Lamina."""

__all__ = [
    "Answer",
    "AnswerOptions",
    "Audio",
    "CaseResult",
    "CheckReport",
    "Comparison",
    "Device",
    "DeviceLostError",
    "Devices",
    "EmbedOptions",
    "Error",
    "FillOptions",
    "GenerateOptions",
    "Grammar",
    "Graph",
    "Hypothesis",
    "Image",
    "ImageOptions",
    "InputError",
    "LabelScore",
    "LayerComparison",
    "MaskedWord",
    "MatchOptions",
    "Model",
    "ModelTensor",
    "NoDeviceError",
    "OutOfMemoryError",
    "Page",
    "PageAnswer",
    "PageOptions",
    "PageWord",
    "Part",
    "PluginError",
    "ReadOptions",
    "RecordComparison",
    "RecordedLayer",
    "ScoredToken",
    "TokenLabels",
    "TokenScore",
    "ToleranceError",
    "Transcript",
    "TranscriptPart",
    "TranscriptSegment",
    "UnprovenError",
    "UsageError",
    "Verdict",
    "WordLabels",
    "WordScore",
    "check",
    "compare",
    "compare_with",
    "devices",
    "load",
    "models",
    "read_audio",
    "read_image",
    "read_page_words",
]

for _name in __all__:  # where people find them, in messages and in pickles
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
