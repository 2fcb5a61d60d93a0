#!/usr/bin/env python3
"""What the compilers of GPU vendors make of Lamina's kernels, without a GPU.

Mesa's drivers start on devices that are not there: a library that is loaded before them (Debian: mesa-drm-shim) answers
for the kernel, and does nothing. Pipelines are compiled to the chip's own instructions, and `lamina check --compile` asks
what came of it. Nothing runs.

    chips.py --list
    chips.py --lamina PATH --out FOLDER --model MODEL [CHIP...]            also what runs the steps of models
    chips.py --lamina PATH --page docs/portability.md navi31 ampere        fails if kernels are worse than the page says
    chips.py --from FOLDER --page docs/portability.md --write              the tables of the page, of what --out wrote

Without CHIP, all chips. The exit status is 1 if a chip could not be tried or a kernel is worse, and 77 if no driver for
these chips is here; then it is 1, too, if LAMINA_REQUIRE_DRIVERS names noop.
"""
import argparse
import dataclasses
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
MANIFESTS = "/usr/share/vulkan/icd.d"
NO_DRIVER = 77
CHECK = ("check", "--compile", "--device", "vulkan:0")


@dataclasses.dataclass(frozen=True)
class Chip:
    name: str
    what: str  # the architecture, for people
    driver: "Driver"
    value: str = ""  # of the driver's variable


@dataclasses.dataclass(frozen=True)
class Driver:
    title: str  # the section of the page
    manifest: str
    shim: str
    variable: str = ""  # that names the chip
    packages: str = "mesa-vulkan-drivers and mesa-drm-shim"  # of Debian 13's backports

    def paths(self):
        """The driver's manifest and its shim; those of LAMINA_NOOP_DRIVERS come first."""
        own = os.environ.get("LAMINA_NOOP_DRIVERS", "")
        found = []
        for folder, file in ((MANIFESTS, f"{self.manifest}_icd*.json"), (LIBRARIES, self.library())):
            places = [os.path.join(place, file) for place in (own, folder) if place]
            matching = [path for place in places for path in sorted(glob.glob(place))]
            found.append(matching[0] if matching else None)
        return found

    def library(self):
        return f"lib{self.shim}_noop_drm_shim.so"

    def why_not(self):
        manifest, shim = self.paths()
        if manifest is None:
            return f"there is no driver {self.manifest} (Debian: {self.packages})"
        if shim is None:
            return f"there is no {self.library()} (Debian: {self.packages})"
        return ""


AMD = Driver("AMD", "radeon", "amdgpu", "AMDGPU_GPU_ID")
NVIDIA = Driver("NVIDIA", "nouveau", "nouveau", "NOUVEAU_CHIPSET")
INTEL = Driver("Intel", "intel", "intel", "INTEL_STUB_GPU_PLATFORM", "its source package; scripts/intel-offline")
QUALCOMM = Driver("Qualcomm", "freedreno", "freedreno", "FD_GPU_ID")
APPLE = Driver("Apple", "asahi", "asahi")
ARM = Driver("Arm", "panfrost", "panfrost", "PAN_GPU_ID", "mesa-vulkan-drivers and mesa-drm-shim of arm64 only")
IMAGINATION = Driver("Imagination", "powervr", "powervr", "", "mesa-vulkan-drivers and mesa-drm-shim of arm64 only")
DRIVERS = [AMD, NVIDIA, INTEL, QUALCOMM, APPLE, ARM, IMAGINATION]

CHIPS = [
    Chip("vega10", "GCN 5", AMD, "vega10"),
    Chip("navi21", "RDNA 2", AMD, "navi21"),
    Chip("navi31", "RDNA 3", AMD, "navi31"),
    Chip("phoenix", "RDNA 3, integrated", AMD, "phoenix"),
    Chip("gfx1201", "RDNA 4", AMD, "gfx1201"),
    Chip("pascal", "GTX 1080", NVIDIA, "134"),
    Chip("turing", "RTX 2070", NVIDIA, "164"),
    Chip("ampere", "RTX 3080", NVIDIA, "172"),
    Chip("skylake", "Gen 9", INTEL, "skl"),
    Chip("tigerlake", "Gen 12", INTEL, "tgl"),
    Chip("alchemist", "Arc A", INTEL, "dg2"),
    Chip("battlemage", "Arc B", INTEL, "bmg"),
    Chip("adreno630", "", QUALCOMM, "630"),
    Chip("adreno740", "", QUALCOMM, "740"),
    Chip("adreno830", "", QUALCOMM, "830"),
    Chip("m1", "", APPLE),
    Chip("mali_g52", "", ARM, "7212"),
    Chip("mali_g610", "", ARM, "a867"),
    Chip("powervr", "BXS-4-64", IMAGINATION),
]


class Failed(Exception):
    pass


def run_lamina(lamina, chip, arguments):
    """What the command prints as JSON, on this chip. Raises Failed with what it says instead."""
    manifest, shim = chip.driver.paths()
    environment = dict(os.environ, VK_DRIVER_FILES=manifest, LD_PRELOAD=shim, MESA_SHADER_CACHE_DISABLE="true")
    if chip.driver.variable:
        environment[chip.driver.variable] = chip.value
    with tempfile.TemporaryDirectory() as folder:
        environment["XDG_RUNTIME_DIR"] = folder
        command = [lamina, *arguments, "--json", "--no-cache"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode in (0, 1) and done.stdout.strip():
        return json.loads(done.stdout)
    last = ([line for line in done.stderr.splitlines() if line.startswith("lamina: ")] or [done.stderr.strip()])[-1]
    raise Failed(f"{' '.join(arguments)}: status {done.returncode}: {last}")


@dataclasses.dataclass
class Row:
    """All pipelines of a kernel on a chip: the worst of each figure, None if the driver does not give it."""
    registers: float = None  # the most
    subgroups: float = None  # the fewest
    instructions: float = None  # the most
    spills: float = None  # the most
    refused: int = 0  # pipelines, which have no figures

    def take(self, kernel):
        self.refused += "error" in kernel
        for figure, worse in (("registers", max), ("subgroups", min), ("instructions", max), ("spills", max)):
            values = [v for v in (getattr(self, figure), kernel[figure]) if v is not None]
            setattr(self, figure, worse(values) if values else None)

    def cell(self):
        figures = (self.registers, self.subgroups, self.instructions)
        text = " / ".join("–" if v is None else str(int(v + 0.5)) for v in figures)
        text += f", **{int(self.spills)} spilled**" if self.spills else ""
        return text + (f", **{self.refused} refused**" if self.refused else "")


def row_of(cell):
    """The row behind a cell of the page; None if it is no such cell."""
    found = re.fullmatch(r"(\d+|–) / (\d+|–) / (\d+|–)(?:, \*\*(\d+) spilled\*\*)?(?:, \*\*(\d+) refused\*\*)?", cell)
    if not found:
        return None
    *figures, spills, refused = (None if v in (None, "–") else float(v) for v in found.groups())
    return Row(*figures, spills or 0.0, int(refused or 0))


def rows_of(report):
    rows = {}
    for kernel in report["kernels"]:
        rows.setdefault(f"{kernel['layer']}/{kernel['kernel']}", Row()).take(kernel)
    return rows


def section(driver, chips, reports):
    """The part of the page about a driver."""
    rows = {chip: rows_of(reports[chip]) for chip in chips}
    version = reports[chips[0]]["device"]["driver"]
    lines = [f"## {driver.title}, compiled by {version}", "",
             "| kernel | " + " | ".join(c.name + (f" ({c.what})" if c.what else "") for c in chips) + " |",
             "| --- |" + " --- |" * len(chips)]
    for kernel in sorted(set().union(*rows.values())):
        cells = [rows[chip][kernel].cell() if kernel in rows[chip] else "" for chip in chips]
        lines.append(f"| {kernel} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def tables_of(page):
    """Of each section of the page: the driver's version, and the rows by chip and kernel."""
    tables = {}
    for part in re.split(r"(?m)^## ", page)[1:]:
        title, _, text = part.partition("\n")
        driver, _, version = title.partition(", compiled by ")
        table = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
        if not version or len(table) < 3:
            continue
        chips = [head.split(" ")[0] for head in table[0][1:]]
        rows = {}
        for kernel, *cells in table[2:]:
            for chip, cell in zip(chips, cells):
                if (row := row_of(cell.strip())) is not None:
                    rows[chip, kernel] = row
        tables[driver] = (version, rows)
    return tables


def worse(old, new, same_driver):
    """Why a kernel is worse than the page says; empty if it is not."""
    before = old or Row()
    if new.refused > before.refused:
        return "the driver refuses it"
    if (new.spills or 0) > (before.spills or 0):
        return "it spills more"
    if not same_driver or old is None:
        return ""
    if old.subgroups and new.subgroups < 0.75 * old.subgroups:
        return "it has lost more than a quarter of its subgroups"
    if old.instructions and new.instructions > old.instructions * 4 / 3:
        return "it has more than a third more instructions"
    return ""


def compare(page, chip, report):
    """The kernels that have become worse on this chip, a line each."""
    version, rows = tables_of(page).get(chip.driver.title, ("", {}))
    same = version == report["device"]["driver"]
    if not same:
        print(f"{chip.name}: the page is about {version or 'no driver'}, here is {report['device']['driver']}: "
              "only spills and refused kernels are compared")
    for kernel, new in sorted(rows_of(report).items()):
        old = rows.get((chip.name, kernel))
        if why := worse(old, new, same):
            yield f"{chip.name}: {kernel}: {why}\n  page: {old.cell() if old else 'nothing'}\n  here: {new.cell()}"


def summary(report):
    kernels = report["kernels"]
    refused, spilling = (sum(1 for k in kernels if k.get("error")), sum(1 for k in kernels if k["spills"]))
    return f"{len(kernels)} pipelines, {refused} refused, {spilling} spill"


def model_lines(report):
    """For each layer of a model: the variants that compute some step, and those that compute none."""
    able, unable = {}, {}
    for step in report["steps"]:
        for v in step["variants"]:
            if v["computes"]:
                able.setdefault(step["layer"], dict())[v["name"]] = None
            else:
                unable.setdefault(step["layer"], {}).setdefault(v["name"], v["why_not"])
    for layer in sorted({step["layer"] for step in report["steps"]}):
        names = list(able.get(layer, {}))
        yield f"    {layer}: {', '.join(names) or 'none'}"
        for name, why in unable.get(layer, {}).items():
            if name not in names:
                yield f"        not {name}: {why}"


def save(folder, name, report):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + ".json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    os.replace(path + ".new", path)


def saved(folder, chip):
    """The report that --out wrote; None if there is none."""
    try:
        with open(os.path.join(folder, chip.name + ".json"), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def compiled_or_saved(arguments, chip):
    """The report about the layers' cases; None, with a line that says so, if the chip was not tried."""
    if arguments.saved:
        report, why = saved(arguments.saved, chip), "nothing is saved"
    else:
        why = chip.driver.why_not()
        report = None if why else try_chip(arguments, chip)
    if report is None:
        print(f"SKIPPED: driver noop: {chip.name}: {why}", flush=True)
    return report


def try_chip(arguments, chip):
    """The report about the layers' cases. Prints what the chip is, and what became of each model."""
    devices = [d for d in run_lamina(arguments.lamina, chip, ["devices"])["devices"] if d["id"] == "vulkan:0"]
    if not devices or not devices[0]["usable"]:
        raise Failed("it is not usable: " + "; ".join(devices[0]["unusable"] if devices else ["no device"]))
    report = run_lamina(arguments.lamina, chip, [*CHECK])
    print(f"{chip.name}: {devices[0]['name'].strip()}, {devices[0]['driver']}: {summary(report)}", flush=True)
    if arguments.out:
        save(arguments.out, chip.name, report)
    for model in arguments.model:
        name = os.path.basename(model.rstrip("/"))
        of_model = run_lamina(arguments.lamina, chip, [*CHECK, "--model", model])
        print(f"  {name}: {summary(of_model)}" + ("" if of_model["compiles"] else ", some step is not computed"))
        print("\n".join(model_lines(of_model)), flush=True)
        if arguments.out:
            save(arguments.out, f"{chip.name}-{name}", of_model)
    return report


def write_page(path, reports):
    with open(path, encoding="utf-8") as file:
        head = re.split(r"(?m)^## [^\n]*, compiled by ", file.read())[0]
    sections = []
    for driver in DRIVERS:
        if chips := [chip for chip in CHIPS if chip.driver is driver and chip in reports]:
            sections.append(section(driver, chips, reports))
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(head + "\n".join(sections))
    os.replace(path + ".new", path)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lamina", help="the command")
    parser.add_argument("--from", dest="saved", metavar="FOLDER", help="take what --out wrote, instead of compiling")
    parser.add_argument("chips", nargs="*", metavar="CHIP")
    parser.add_argument("--list", action="store_true", help="the chips, and which have no driver here")
    parser.add_argument("--page", help="docs/portability.md, to compare with")
    parser.add_argument("--write", action="store_true", help="write the page instead")
    parser.add_argument("--model", action="append", default=[], help="may be repeated")
    parser.add_argument("--out", metavar="FOLDER", help="folder for everything that is known, as JSON")
    arguments = parser.parse_args()
    names = {chip.name: chip for chip in CHIPS}
    for name in arguments.chips:
        if name not in names:
            parser.error(f"there is no chip '{name}'; there are: {', '.join(names)}")
    if arguments.write and (not arguments.page or not arguments.saved or arguments.chips):
        parser.error("--write needs --page and --from, and all chips")
    if not (arguments.list or arguments.lamina or arguments.saved):
        parser.error("--lamina, --from or --list is needed")
    return arguments, [names[name] for name in arguments.chips] or CHIPS


def main():
    arguments, chips = parse()
    if arguments.list:
        for chip in chips:
            print(f"{chip.name}: {chip.driver.title}" + (f", {chip.what}" if chip.what else "") +
                  (f"; not here: {why}" if (why := chip.driver.why_not()) else ""))
        return 0
    page = ""
    if arguments.page:
        with open(arguments.page, encoding="utf-8") as file:
            page = file.read()
    reports, problems = {}, []
    for chip in chips:
        try:
            if (report := compiled_or_saved(arguments, chip)) is None:
                continue
            reports[chip] = report
            if page and not arguments.write:
                problems += compare(page, chip, reports[chip])
        except Failed as failed:
            problems.append(f"{chip.name}: {failed}")
    if arguments.write:
        write_page(arguments.page, reports)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not reports and not problems:
        return 1 if "noop" in os.environ.get("LAMINA_REQUIRE_DRIVERS", "").split(",") else NO_DRIVER
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
