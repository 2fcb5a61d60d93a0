"""check() and compare(), and how results show themselves."""

import os
import xml.dom.minidom

import pytest

import lamina


def test_a_layer_is_proved_in_three_lines():
    lamina.check("softmax", device="cpu").assert_passed()


def test_a_check_has_the_results_of_the_command(command):
    report = lamina.check("softmax", "rms_norm", device="cpu")
    expected = command("check", "softmax", "rms_norm")
    found = [(r.layer, r.variant, r.case_text, r.status) for r in report.results]
    assert found == [(c["layer"], c["variant"], c["case"], c["status"]) for c in expected["cases"]]
    assert [r.verdict.ratio for r in report.results] == [c["ratio"] for c in expected["cases"]]
    assert report.passed and not report.failures


def test_a_check_that_proves_nothing_does_not_pass():
    report = lamina.check("dropout", device="cpu")
    assert not report.passed
    with pytest.raises(AssertionError, match="nothing to check on cpu"):
        report.assert_passed()


wrong_plugins = os.environ.get("LAMINA_WRONG_PLUGINS")  # layers of tests/trust


@pytest.mark.skipif(not wrong_plugins, reason="tests/trust was not built")
def test_a_wrong_kernel_fails_the_assertion_with_the_command_that_runs_it_again():
    report = lamina.check("wrong_always", device="interpreter", plugin_folders=wrong_plugins)
    with pytest.raises(lamina.ToleranceError, match="lamina check wrong_always --device interpreter .*--case"):
        report.assert_passed()
    assert report.failures and "failed" in report.summary
    assert "expected" in str(report.failures[0].verdict)


def test_a_check_reports_its_progress():
    seen = []
    lamina.check("softmax", device="cpu", own_cases_only=True, progress=lambda *what: seen.append(what))
    assert seen[0] == ("softmax, cpu_fallback", 0, len(seen))
    assert [done for _, done, _ in seen] == list(range(len(seen)))


def test_a_comparison_has_the_results_of_the_command(g2p, command, tmp_path):
    found = lamina.compare(g2p, "vulkan")
    expected = command("compare", lamina.models / "g2p", "vulkan", "--svg", tmp_path / "map.svg")
    assert [(each.layer, each.own.ratio, each.accumulated.ratio) for each in found.layers] == [
        (each["layer"], each["own"]["ratio"], each["accumulated"]["ratio"]) for each in expected["layers"]
    ]
    assert found.summary == expected["summary"] and found.agrees and found.first_wrong is None
    assert found.svg == (tmp_path / "map.svg").read_text()
    found.assert_agrees()
    with pytest.raises(lamina.UsageError, match="nothing to compare"):
        lamina.compare(g2p, device="reference")
    by_path = lamina.compare(lamina.models / "g2p", "vulkan", device="cpu")
    assert [each.own.ratio for each in by_path.layers] == [each.own.ratio for each in found.layers]


def test_a_fusion_is_compared_where_it_runs():
    others = [device.id for device in lamina.devices() if device.id != "cpu" and not device.unusable]
    if not others:
        pytest.skip("no Vulkan device")
    asked = {"linears": "baseline"}
    model = lamina.load(lamina.models / "g2p", device=others[0], variants=asked)
    apart = lamina.load(lamina.models / "g2p", device=others[0], variants=asked, fusion=False)
    assert model.generate("vulkan") == apart.generate("vulkan")
    found = [lamina.compare(model, "vulkan", variants=asked, fusion=fusion) for fusion in (True, False)]
    assert [any(each.type == "linears" for each in one.layers) for one in found] == [True, False]
    assert all(one.agrees for one in found)


def test_a_record_of_transformers_is_compared_with():
    from conftest import source

    tests = source / "tests" / "architectures"
    found = lamina.compare_with(tests / "models" / "llama", tests / "records" / "llama.safetensors", device="cpu")
    assert found.agrees and found.first_wrong is None and found.made_by.startswith("transformers ")
    assert "model.layers.1.mlp.feed_forward" in [each.layer for each in found.layers]
    with pytest.raises(lamina.InputError, match="no graph 'encode'"):
        lamina.compare_with(tests / "models" / "llama", tests / "records" / "bert.safetensors", device="cpu")


def test_results_show_themselves_in_a_notebook(g2p):
    report, comparison = lamina.check("softmax", device="cpu"), lamina.compare(g2p, "vulkan")
    for shown in (lamina.devices(), g2p, report, comparison):
        xml.dom.minidom.parseString(shown._repr_html_())  # well-formed
    assert '<td style="text-align: left">softmax</td>' in report._repr_html_()
    assert comparison._repr_html_().startswith("<svg")
    lines = repr(report).splitlines()
    assert lines[0].startswith("DEVICE  LAYER    VARIANT") and lines[-1].endswith("agree with the references")
    assert len(repr(comparison).splitlines()) == len(comparison.layers) + 3


def test_devices_are_those_of_the_command(command):
    found = lamina.devices()
    expected = command("devices", device=None)["devices"]
    assert [(d.id, d.name, d.kind, d.memory_bytes) for d in found] == [
        (d["id"], d["name"], d["kind"], d["memory_bytes"]) for d in expected
    ]
    assert repr(found).startswith("DEVICE")
