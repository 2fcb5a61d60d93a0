"""Tests of chips.py: what it says about a page and a report."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import chips  # noqa: E402

AMPERE = next(chip for chip in chips.CHIPS if chip.name == "ampere")
PAGE = """# Page
## NVIDIA, compiled by NVK 1

| kernel | pascal (GTX 1080) | ampere (RTX 3080) |
| --- | --- | --- |
| linear/a | 10 / 20 / 300 | 48 / 20 / 300 |
| linear/b | 10 / – / 300 | 48 / 20 / 300, **4 spilled**, **1 refused** |
"""


def report(driver="NVK 1", **figures):
    kernel = {"layer": "linear", "kernel": "a", "registers": 48, "subgroups": 20, "instructions": 300, "spills": 0}
    return {"device": {"driver": driver}, "kernels": [kernel | figures]}


def said(made):
    return "".join(chips.compare(PAGE, AMPERE, made))


class Chips(unittest.TestCase):
    def test_cells_are_read_as_they_are_written(self):
        rows = chips.tables_of(PAGE)["NVIDIA"][1]
        self.assertEqual(len(rows), 4)
        self.assertEqual(rows["ampere", "linear/b"], chips.Row(48, 20, 300, 4, 1))
        for row in rows.values():
            self.assertEqual(chips.row_of(row.cell()), row)

    def test_rows_have_the_worst_of_all_pipelines(self):
        made = report()
        made["kernels"] += report(registers=96, subgroups=12, instructions=200, spills=3)["kernels"]
        made["kernels"] += report(registers=None, subgroups=None, instructions=None, spills=None, error="no")["kernels"]
        self.assertEqual(chips.rows_of(made)["linear/a"], chips.Row(96, 12, 300, 3, 1))

    def test_what_is_as_good_as_before_is_fine(self):
        self.assertEqual(said(report()), "")
        self.assertEqual(said(report(subgroups=15, instructions=400)), "")
        self.assertEqual(said(report(kernel="b", spills=4)), "")

    def test_what_is_worse_is_said_with_both_lines(self):
        self.assertIn("lost more than a quarter of its subgroups", said(report(subgroups=14)))
        self.assertIn("a third more instructions", said(report(instructions=401)))
        spilled = said(report(spills=1))
        self.assertIn("page: 48 / 20 / 300\n", spilled)
        self.assertIn("here: 48 / 20 / 300, **1 spilled**", spilled)
        self.assertIn("spills more", said(report(kernel="b", spills=5)))
        self.assertIn("refuses", said(report(error="why")))
        self.assertIn("spills more", said(report(kernel="new", spills=1)))

    def test_figures_of_another_driver_are_not_compared(self):
        self.assertEqual(said(report(driver="NVK 2", subgroups=1, instructions=9999)), "")
        self.assertIn("spills more", said(report(driver="NVK 2", spills=1)))

    def test_the_page_has_every_chip_or_names_its_vendor(self):
        page = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "portability.md")
        with open(page, encoding="utf-8") as file:
            text = file.read()
        tables = chips.tables_of(text)
        for chip in chips.CHIPS:
            self.assertIn(chip.driver.title, text)
            if chip.driver in (chips.ARM, chips.IMAGINATION):
                continue
            rows = [row for (name, _), row in tables[chip.driver.title][1].items() if name == chip.name]
            self.assertGreater(len(rows), 90, chip.name)


if __name__ == "__main__":
    unittest.main()
