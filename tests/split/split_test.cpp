// One model on several devices gives what it gives on one.
#include "../architectures/with_tokenizer.hpp"
#include "catch.hpp"
#include "conformance/drivers.hpp"
#include "letters.hpp"

#include <lamina/audio.hpp>
#include <lamina/lamina.hpp>
#include <lamina/measure.hpp>
#include <lamina/proof.hpp>

#include <algorithm>
#include <cmath>
#include <set>

using namespace lamina;
using matchers::contains;

namespace {

// Both software drivers, as far as they are installed. Before the first use of Vulkan.
const Runtime &runtime_of_all() {
    static const Runtime runtime = [] {
        std::string manifests;
        for (const char *driver : {"lavapipe", "swiftshader"}) {
            const std::filesystem::path manifest = test::manifest_of(driver);
            if (manifest.empty())
                test::report_absent(driver, "it is not installed");
            else
                manifests += (manifests.empty() ? "" : ":") + manifest.string();
        }
        test::select(manifests);
        RuntimeOptions options;
        options.plugin_folders = {LAMINA_PLUGIN_DIR};
        return Runtime(options);
    }();
    return runtime;
}

// "vulkan:0,cpu": every pair in both orders, and all three.
std::vector<std::string> lists_of_devices() {
    std::vector<std::string> ids, out;
    for (const Device &device : runtime_of_all().devices())
        if (device.unusable.empty()) ids.push_back(device.id);
    for (const std::string &a : ids)
        for (const std::string &b : ids)
            if (a != b) out.push_back(a + "," + b);
    if (ids.size() == 3) out.push_back(ids[1] + "," + ids[2] + "," + ids[0]);
    return out;
}

// As many of the layers on each device as on any other, the first a few more.
std::vector<size_t> halves(const Device &device, size_t layers) {
    std::vector<size_t> out(device.parts.size(), layers / device.parts.size());
    out.front() += layers % device.parts.size();
    return out;
}

std::vector<std::vector<int32_t>> tokens_of(Session &session, const std::vector<std::string> &texts, int64_t length) {
    GenerateOptions how;
    how.max_length = length;
    how.beams = 2;
    std::vector<std::vector<int32_t>> out;
    for (const auto &hypotheses : session.hypotheses(texts, how))
        for (const Hypothesis &each : hypotheses) out.push_back(each.tokens);
    return out;
}

// The same on every list of devices as on the CPU.
void expect_same(const Model &model, size_t layers,
                 const std::function<std::vector<std::vector<int32_t>>(Session &)> &run) {
    const Runtime &runtime = runtime_of_all();
    Session alone = runtime.session(model, runtime.device("cpu"));
    const auto expected = run(alone);
    for (const std::string &ids : lists_of_devices()) {
        INFO(model.name() << " on " << ids);
        const Device device = runtime.device(ids);
        Session session = runtime.session(model, device, {.split = halves(device, layers)});
        CHECK(run(session) == expected);
    }
}

} // namespace

TEST_CASE("split: g2p gives the same on all pairs of devices, and on all three") {
    expect_same(runtime_of_all().load(LAMINA_SOURCE_DIR "/models/g2p"), 8, [](Session &s) {
        return tokens_of(s, {"vulkan", "transformer", "a"}, 20);
    });
}

TEST_CASE("split: so does a language model, with a prompt in several blocks") {
    expect_same(runtime_of_all().load(test::letters({.layers = 3})), 3, [](Session &s) {
        return tokens_of(s, {std::string(700, 'x') + "abc", "hello"}, 12);
    });
}

TEST_CASE("split: so does a model that transcribes") {
    const WithTokenizer whisper("whisper");
    Audio audio{.rate = 16000};
    for (int i = 0; i < 3000; ++i)
        audio.samples.push_back(static_cast<float>(0.4 * std::sin(6.2831853 * 700 * i / 16000)));
    const Model model = runtime_of_all().load(whisper.path());
    const size_t layers = [&] {
        const Runtime &runtime = runtime_of_all();
        const Session session = runtime.session(model, runtime.device(lists_of_devices().front()));
        size_t sum = 0;
        for (const Session::Part &part : session.parts()) sum += part.layers;
        return sum;
    }();
    expect_same(model, layers, [&](Session &s) {
        GenerateOptions how;
        how.max_length = 9, how.choices = {{"language", "de"}};
        return std::vector<std::vector<int32_t>>{transcribe(s, {audio}, how).front().parts.front().hypothesis.tokens};
    });
}

TEST_CASE("split: adapters beside a model are where its layers are, and take turns with it") {
    const WithTokenizer llama("llama", {{"max_position_embeddings", 1024}});
    const std::vector<Adapter> adapters{{test::architectures / "adapters" / "llama"}};
    const Runtime &runtime = runtime_of_all();
    const auto ids = [](Session &session) {
        std::string text;
        for (int i = 0; i < 300; ++i) text += "w" + std::to_string(3 + i * i % 50) + " "; // two blocks
        return tokens_of(session, {text, "w3 w4"}, 6);
    };
    Session plain = runtime.session(runtime.load(llama.path()), runtime.device("cpu")),
            merged = runtime.session(runtime.load(llama.path(), {.adapters = adapters}), runtime.device("cpu"));
    const auto without = ids(plain), with = ids(merged);
    REQUIRE(with != without);
    const size_t layers = [&] {
        size_t sum = 0;
        for (const Session::Part &part :
             runtime.session(runtime.load(llama.path()), runtime.device(lists_of_devices().front())).parts())
            sum += part.layers;
        return sum;
    }();
    for (const std::string &list : {lists_of_devices().front(), lists_of_devices().back()}) {
        INFO(list);
        const Device device = runtime.device(list);
        Session base = runtime.session(runtime.load(llama.path()), device, {.split = halves(device, layers)});
        Session beside = base.with_adapters(adapters);
        CHECK(ids(beside) == with);
        CHECK(ids(base) == without);
        CHECK(ids(beside) == with);
        const auto parts = beside.parts();
        REQUIRE(parts.size() == device.parts.size());
        CHECK(parts.front().layers == base.parts().front().layers);
    }
}

TEST_CASE("split: by itself, each device takes what it has room for") {
    const Runtime &runtime = runtime_of_all();
    const Model model = runtime.load(LAMINA_SOURCE_DIR "/models/g2p");
    const Device device = runtime.device(lists_of_devices().front());
    const auto parts = [&](const SessionOptions &how) { return runtime.session(model, device, how).parts(); };
    const auto whole = parts({});
    REQUIRE(whole.size() == 2);
    CHECK(whole[0].layers == 8);
    CHECK((whole[0].first == "encoder.0" && whole[0].last == "decoder.3"));
    CHECK(whole[1].layers == 0);
    const auto some = parts({.max_memory = {2 << 20}});
    CHECK((some[0].layers > 0 && some[0].layers < 4));
    CHECK(some[0].layers + some[1].layers == 8);
    CHECK(some[0].room == 2u << 20);
    CHECK(some[0].weights <= 2u << 20);
    CHECK(some[1].last == "decoder.3");
    CHECK(some[0].weights + some[1].weights == whole[0].weights);
    const auto told = parts({.split = {1, 7}});
    CHECK((told[0].layers == 1 && told[0].room == std::nullopt));
    CHECK(runtime.session(model, runtime.device("cpu")).parts().empty());
}

TEST_CASE("split: a comparison and a profile name the device of each layer") {
    const Runtime &runtime = runtime_of_all();
    const Model model = runtime.load(LAMINA_SOURCE_DIR "/models/g2p");
    const Device device = runtime.device(lists_of_devices().front());
    CompareOptions options;
    options.texts = {"vulkan"};
    options.split = {6, 2};
    const Comparison found = compare(runtime, model, device, options);
    CHECK(found.agrees());
    CHECK(found.layers.size() > 50);
    for (const LayerComparison &layer : found.layers) {
        INFO(layer.layer);
        const auto is_of = [&](const char *part) { return layer.layer.starts_with(part); };
        const bool second = is_of("decoder.2.") || is_of("decoder.3.") || is_of("decoder.norm") || is_of("generator");
        CHECK(layer.device == device.parts[second ? 1 : 0].id);
    }

    std::map<std::string, std::set<std::string>> devices; // of layers by their beginning
    SessionOptions how{.split = {6, 2}};
    how.profile = [&](const GraphTimes &times) {
        for (const LayerTime &layer : times.layers) devices[layer.layer.substr(0, 9)].insert(layer.device);
    };
    (void)runtime.session(model, device, how).generate({"vulkan"});
    CHECK(devices.at("encoder.0") == std::set{device.parts[0].id});
    CHECK(devices.at("decoder.1") == std::set{device.parts[0].id});
    CHECK(devices.at("decoder.2") == std::set{device.parts[1].id});
}

TEST_CASE("split: fusions replace layers that are on one device, where the device has them") {
    const Runtime &runtime = runtime_of_all();
    const Model model = runtime.load(LAMINA_SOURCE_DIR "/models/g2p");
    Session alone = runtime.session(model, runtime.device("cpu"));
    const auto expected = tokens_of(alone, {"vulkan", "transformer"}, 20);
    for (const std::string &ids : lists_of_devices()) {
        INFO(ids);
        std::map<std::string, std::set<std::string>> types; // by device
        SessionOptions how{.variants = {{"linears", "baseline"}}};
        const Device device = runtime.device(ids);
        how.split = halves(device, 8);
        how.profile = [&](const GraphTimes &times) {
            for (const LayerTime &layer : times.layers) types[layer.device].insert(layer.type);
        };
        Session session = runtime.session(model, device, how);
        CHECK(tokens_of(session, {"vulkan", "transformer"}, 20) == expected);
        for (const Device &part : device.parts) CHECK(types[part.id].contains("linears") == (part.id != "cpu"));
    }
}

TEST_CASE("split: devices and numbers that make no sense are refused") {
    const Runtime &runtime = runtime_of_all();
    const Model model = runtime.load(LAMINA_SOURCE_DIR "/models/g2p");
    const auto of_device = [&](const std::string &ids) { return message_of([&] { (void)runtime.device(ids); }); };
    CHECK_THAT(of_device("cpu,cpu"), contains("cpu is given twice"));
    CHECK_THAT(of_device("cpu,"), contains("expected cpu, vulkan:N or uuid:... between commas, found ''"));
    CHECK_THAT(of_device("cpu,reference"), contains("found 'reference'"));
    CHECK_THAT(of_device("cpu,vulkan:99"), contains("no device 'vulkan:99'"));
    const auto of_session = [&](const std::string &ids, const SessionOptions &how) {
        return message_of([&] { (void)runtime.session(model, runtime.device(ids), how); });
    };
    CHECK_THAT(of_session("cpu", {.split = {8}}), contains("split among several devices"));
    CHECK_THAT(of_session("cpu", {.max_memory = {1}}), contains("split among several devices"));
    CHECK_THAT(of_session(lists_of_devices().front(), {.split = {4, 5}}), contains("8 in all"));
    CHECK_THAT(of_session(lists_of_devices().front(), {.max_memory = {1, 2, 3}}), contains("3 amounts of memory"));
    CHECK_THAT(of_session(lists_of_devices().front(), {.split = {4, 4}, .max_memory = {1}}),
               contains("max_memory is for a split by memory"));
    CHECK_THAT(
        message_of([&] { (void)measure_layer(runtime, runtime.device(lists_of_devices().front()), "linear", ""); }),
        contains("several devices; here, one is expected"));
}
