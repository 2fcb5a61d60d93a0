"""Kernels and models beside their references."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _lamina, _tables
from ._arrays import as_input
from ._errors import ToleranceError
from ._handle import How
from ._lamina import CaseResult, Device, LayerComparison, RecordComparison
from ._model import Model
from ._options import filled
from ._runtime import Path, runtime
from ._tables import Number


class CheckReport:
    """What `check` has found: a result for each case, on each device. Shows itself as a table."""

    def __init__(self, reports: Sequence[Tuple[Device, _lamina.CheckReport]], no_vulkan: str) -> None:
        self._reports, self._no_vulkan = list(reports), no_vulkan

    @property
    def results(self) -> List[CaseResult]:
        return [result for _, report in self._reports for result in report.results]

    @property
    def failures(self) -> List[CaseResult]:
        return [result for result in self.results if result.status == "failed"]

    @property
    def passed(self) -> bool:
        """Whether something ran, nothing failed, and no variant skipped all of its cases without need."""
        passed = any(result.status == "passed" for result in self.results)
        return passed and not self.failures and not any(report.unproved for _, report in self._reports)

    @property
    def summary(self) -> str:
        """A line for each device on which something was checked."""
        ran = [(device, report) for device, report in self._reports if report.results] or self._reports
        return "\n".join(report.summary(device) for device, report in ran)

    def assert_passed(self) -> None:
        """Raises ToleranceError, an AssertionError, with the cases that failed and the commands that run them again."""
        if self.passed:
            return
        shown = [f"{failure.replay}\n    {failure.why}" for failure in self.failures[:5]]
        if not self.results and self._no_vulkan:
            shown = [f"no Vulkan: {self._no_vulkan}"]
        raise ToleranceError("\n".join([self.summary, *shown]))

    _head = ("device", "layer", "variant", "passed", "failed", "skipped", "worst / limit")

    def _rows(self) -> List[Tuple[Any, ...]]:
        rows: Dict[Tuple[str, str, str], List[CaseResult]] = {}
        for device, report in self._reports:
            for result in report.results:
                rows.setdefault((device.id, result.layer, result.variant), []).append(result)
        return [(*key, *_counts(results)) for key, results in rows.items()]

    def __repr__(self) -> str:
        return (_tables.as_text(self._head, self._rows()) + "\n\n" if self.results else "") + self.summary

    def _repr_html_(self) -> str:
        return _tables.as_html(self._head, self._rows(), self.summary)


def _counts(results: Sequence[CaseResult]) -> Tuple[Any, ...]:
    of_status = [result.status for result in results]
    ratios = [result.verdict.ratio for result in results if result.status == "passed"]
    counts = tuple(of_status.count(status) for status in ("passed", "failed", "skipped"))
    return (*counts, Number(max(ratios)) if ratios else "-")


def check(
    *layers: str,
    device: Union[str, Sequence[str]] = "every",
    plugin_folders: Union[Path, Sequence[Path]] = (),
    variants: Sequence[str] = (),
    case: str = "",
    replay: Path = "",
    own_cases_only: bool = False,
    seed: int = 1,
    thorough: bool = False,
    soak: int = 0,
    progress: Optional[Callable[[str, int, int], None]] = None,
) -> CheckReport:
    """Checks every kernel of layers (all, if none is named) against their references, case by case.

    The test of a layer is two lines:

    >>> def test_rms_norm():
    ...     lamina.check("rms_norm").assert_passed()

    device
        "every" usable device: Vulkan's, including software drivers, and the CPU's fast kernels. Or one device, as for
        `load`; "interpreter" runs kernels without a driver, and finds races and wrong indices. Or a list.
    variants, case, replay, own_cases_only, seed, thorough, soak
        As the options of `lamina check`.
    progress
        Called as progress(what, done, all) before each case.
    """
    shared = runtime(plugin_folders)
    if device == "every":
        found = [each for each in shared.devices() if not each.unusable]
    else:
        found = [shared.device(each) for each in ([device] if isinstance(device, str) else device)]
    options: Dict[str, Any] = dict(
        layers=list(layers),
        variants=list(variants),
        case_text=case,
        replay=os.fspath(replay),
        own_cases_only=own_cases_only,
        seed=seed,
        thorough=thorough,
        soak=soak,
    )
    if progress is not None:
        options["progress"] = progress
    how = filled(_lamina.CheckOptions(), options)
    return CheckReport([(each, _lamina.check(shared, each, how)) for each in found], shared.no_vulkan())


class Comparison:
    """What `compare` has found: the errors of every layer of a model. Shows itself as a picture."""

    def __init__(self, found: _lamina.Comparison) -> None:
        self._found = found

    @property
    def device(self) -> Device:
        return self._found.device

    @property
    def layers(self) -> List[LayerComparison]:
        """In the order in which they run."""
        return self._found.layers

    @property
    def first_wrong(self) -> Optional[LayerComparison]:
        """None if all agree."""
        return self._found.first_wrong

    @property
    def agrees(self) -> bool:
        return self._found.agrees

    @property
    def summary(self) -> str:
        return self._found.summary

    @property
    def unproven(self) -> List[str]:
        """Types of layers of which no variant has passed its proof. Models refuse them; here they ran."""
        return self._found.unproven

    @property
    def proof_command(self) -> str:
        """Proves those types of layers again; empty if there are none."""
        return self._found.proof_command

    @property
    def replay_command(self) -> str:
        """Runs the first wrong layer alone, if `replay_folder` was given."""
        return self._found.replay_command

    @property
    def svg(self) -> str:
        """The picture: a row for each layer, coloured by its errors."""
        return self._found.svg

    def assert_agrees(self) -> None:
        """Raises ToleranceError, an AssertionError, that names the first wrong layer."""
        if not self.agrees or not self.layers:
            raise ToleranceError(self.summary)

    def __repr__(self) -> str:
        head = ("graph", "layer", "type", "variant", "own error", "/ limit", "accumulated", "/ limit", "verdict")
        rows = [
            (
                each.graph + (" (prompt)" if each.prompt else ""),
                each.layer,
                each.type,
                each.variant,
                Number(each.own.error),
                Number(each.own.ratio),
                Number(each.accumulated.error),
                Number(each.accumulated.ratio),
                "agrees" if each.agrees else "WRONG",
            )
            for each in self.layers
        ]
        return _tables.as_text(head, rows) + "\n\n" + self.summary

    def _repr_html_(self) -> str:
        return self.svg


def compare(
    model: Union[Model, Path],
    texts: Union[str, Sequence[str]] = (),
    *,
    device: Optional[str] = None,
    inputs: Mapping[str, Any] = {},
    graph: str = "",
    against: str = "reference",
    variants: Mapping[str, str] = {},
    fusion: bool = True,
    repeat: int = 1,
    replay_folder: Path = "",
    all_rows: bool = False,
    plugin_folders: Union[Path, Sequence[Path]] = (),
) -> Comparison:
    """Compares a model on a device with the references of its layers, layer by layer.

    texts, inputs, graph
        What it runs on: texts, or the inputs of a graph. By default, two short texts.
    device
        By default that of the model, or "auto" for a path.
    against
        "reference", or "cpu" for the CPU's fast kernels, which suits large models.
    variants
        Of layers, also those that have not been proved.
    fusion
        Compare what a session runs, in which one layer may replace several; false: each layer by itself.
    repeat
        Run each layer and each graph so often; all runs must give the same bits.
    replay_folder
        Where to save the first wrong layer, for `check(replay=...)`.
    all_rows
        Let the references compute all rows, however long it takes. Otherwise, where one would take long, it computes
        a sample of them: see `LayerComparison.compared_rows`.
    """
    if isinstance(model, Model):
        shared, content, how = model._runtime, model._model, model._how
        found = model.device if device is None else shared.device(device)
        if device is not None:  # where the model may not be split
            how = how._replace(split=[], max_memory=[])
    else:
        shared, how = runtime(plugin_folders), How({}, "full", "f32", True, [], [])
        content, found = shared.load(os.fspath(model)), shared.device(device or "auto")
    given = {name: as_input(name, value) for name, value in inputs.items()}
    words = [texts] if isinstance(texts, str) else list(texts)
    return Comparison(
        _lamina.compare(
            shared,
            content,
            found,
            texts=words,
            inputs=given,
            graph=graph,
            against=against,
            variants=dict(variants),
            fusion=fusion,
            precision=how.precision,
            kv_cache=how.kv_cache,
            split=how.split,
            max_memory=how.max_memory,
            repeat=repeat,
            replay_folder=os.fspath(replay_folder),
            all_rows=all_rows,
        )
    )


def compare_with(
    model: Path,
    other: Path = "transformers",
    texts: Union[str, Sequence[str]] = (),
    *,
    device: str = "auto",
    record: Path = "",
    plugin_folders: Union[Path, Sequence[Path]] = (),
) -> RecordComparison:
    """Compares what a model computes with what another program computes of it.

    other
        "transformers" runs the package of this name on the same files. Anything else is a record that it made before.
    texts
        What transformers runs it on; by default ids drawn at random.
    record
        Where to keep what transformers computed, a safetensors file.
    """
    shared = runtime(plugin_folders)
    content, found = shared.load(os.fspath(model)), shared.device(device)
    if os.fspath(other) != "transformers":
        return _lamina.compare_with_record(shared, content, found, os.fspath(other))
    from ._record import record as record_with_transformers

    with tempfile.TemporaryDirectory() as folder:
        file = os.fspath(record) or os.path.join(folder, "record.safetensors")
        record_with_transformers(model, file, [texts] if isinstance(texts, str) else texts)
        return _lamina.compare_with_record(shared, content, found, file)
