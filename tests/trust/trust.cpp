// No kernel is trusted before it has been checked on the device: variants that are wrong on purpose are barred before
// they run, or named by compare.
#include "base/storage.hpp"
#include "catch.hpp"
#include "wrong_layers.hpp"

#include <algorithm>
#include <set>

using namespace lamina;
using namespace test;

namespace {

// Layers of tests have no kernels for the CPU, which is said, too.
void forget_references(std::vector<std::string> &notices) {
    std::erase_if(notices,
                  [](const std::string &n) { return n.find("has no kernel for the CPU") != std::string::npos; });
}

} // namespace

TEST_CASE("a wrong CPU kernel is barred, one for another contract never runs, and the references run instead") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    for (int again = 0; again < 2; ++again) { // verdicts are remembered
        const Runtime runtime = runtime_with(cache, notices, WRONG_EXECUTOR);
        const Model model = runtime.load(model_of("log_softmax"));
        const Tensor x = ramp(3, 5);
        const auto run_on = [&](const char *device) {
            return runtime.session(model, runtime.device(device)).run("run", {{"x", x}}).at("y");
        };
        CHECK(agree(run_on("cpu"), run_on("reference")));
    }
    forget_references(notices);
    REQUIRE(notices.size() == 1);
    CHECK_THAT(notices.front(), matchers::contains("layer 'softmax': variant 'wrong_executor' is barred on the CPU: "));
}

TEST_CASE("a wrong CPU kernel that is less exact than others is tried, and barred, only where a session allows it") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices, WRONG_EXECUTOR);
    const Model model =
        runtime.load(ModelDescription{.name = "product",
                                      .json = R"({"format": "lamina/1", "name": "product", "summary": "",
        "graphs": {"run": {"inputs": {"x": {"dtype": "f32", "dims": "N C"}},
                           "layers": [{"name": "y", "type": "linear", "inputs": {"x": "x"}, "weights": {"weight": "w"}}],
                           "outputs": {"y": "y"}}}})",
                                      .weights = {{"w", narrowed(ramp(4, 32), DType::q8_0)}},
                                      .vocabularies = {}});
    for (const Precision precision : {Precision::full, Precision::half, Precision::int8}) {
        CHECK(notices.empty());
        SessionOptions options;
        options.precision = precision;
        const auto run_on = [&](const char *device) {
            return runtime.session(model, runtime.device(device), options).run("run", {{"x", ramp(3, 32)}}).at("y");
        };
        CHECK(agree(run_on("cpu"), run_on("reference")));
    }
    REQUIRE(notices.size() == 1);
    CHECK_THAT(notices.front(),
               matchers::contains("layer 'linear': variant 'wrong_executor_q8_0' is barred on the CPU: "));
}

TEST_CASE("a variant that fails its cases is barred with one message, the next one is used, and the result is right") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    const Model model = runtime.load(model_of("wrong_always"));
    const TensorMap inputs{{"x", ramp(3, 40)}};
    const Tensor got = runtime.session(model, *device).run("run", inputs).at("y");
    const Tensor expected = runtime.session(model, runtime.device("reference")).run("run", inputs).at("y");
    CHECK(agree(got, expected));
    REQUIRE(notices.size() == 1);
    CHECK_THAT(notices[0], matchers::contains("layer 'wrong_always': variant 'fast' is barred on " + device->name));
    CHECK_THAT(notices[0], matchers::contains("lamina check wrong_always"));
    CHECK(notices[0].find('\n') == std::string::npos);

    SECTION("asked for by name, it is refused with the reason") {
        SessionOptions options;
        options.variants["wrong_always"] = "fast";
        Session session = runtime.session(model, *device, options);
        CHECK_THAT(message_of([&] { (void)session.run("run", inputs); }),
                   matchers::contains("variant 'fast' failed its proof") &&
                       matchers::contains("lamina check wrong_always"));
    }
    SECTION("the verdict is remembered") {
        std::vector<std::string> later;
        const Runtime again = runtime_with(cache, later);
        CHECK(agree(again.session(again.load(model_of("wrong_always")), *device).run("run", inputs).at("y"), expected));
        CHECK(later.empty());
    }
    SECTION("a damaged memory is no verdict: it is proved again") {
        size_t damaged = 0;
        for (const auto &entry : std::filesystem::recursive_directory_iterator(cache.path()))
            if (entry.path().filename().string().starts_with("verdicts-") && entry.path().extension() == ".json") {
                std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
                ++damaged;
            }
        REQUIRE(damaged == 1);
        std::vector<std::string> later;
        const Runtime again = runtime_with(cache, later);
        CHECK(agree(again.session(again.load(model_of("wrong_always")), *device).run("run", inputs).at("y"), expected));
        CHECK(later.size() == 1);
    }
}

TEST_CASE("a variant is proved on shapes like those of the model, not only on its layer's small cases") {
    const struct {
        std::string layer;
        Tensor x;
        const char *proved_on;
    } steps[] = {
        {"wrong_when_long", ramp(2, 512), "C=512"},
        {"never_proved", ramp(2, 512), "C=512"},
        // Too large for a case: columns are halved, because fewer rows would run another pipeline.
        {"wrong_when_many", ramp(1024, 1024), "...=512 C=256"},
        // The reference of this one computes rows alone, so it is proved at its own size.
        {"wrong_when_large", ramp(2048, 1024), "...=2048 C=1024 sample="},
    };
    for (const auto &[layer, x, proved_on] : steps) {
        INFO(layer);
        const TemporaryFolder cache;
        for (int run = 0; run < 3; ++run) { // the verdicts of the first ones are remembered
            std::vector<std::string> notices;
            const Runtime runtime = runtime_with(cache, notices);
            const auto device = first_vulkan(runtime);
            if (!device) return;
            const Model model = runtime.load(model_of(layer));
            const TensorMap inputs{{"x", x}};
            const Tensor expected = runtime.session(model, runtime.device("reference")).run("run", inputs).at("y");
            CHECK(agree(runtime.session(model, *device).run("run", inputs).at("y"), expected));
            if (run == 0) {
                REQUIRE(notices.size() == 1);
                CHECK_THAT(notices[0], matchers::contains("variant 'fast' is barred") && matchers::contains(proved_on));
            } else {
                CHECK(notices.empty());
            }
        }
    }
}

TEST_CASE("a reference that computes rows alone other than among all fails the check, whatever the kernels do") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    const CheckReport report = check(runtime, *device, {.layers = {"wrong_reference"}, .own_cases_only = true});
    CHECK(report.count(CaseResult::Status::failed) == 2); // both variants, in the case with more than one row
    for (const CaseResult &r : report.results)
        if (r.status == CaseResult::Status::failed) CHECK_THAT(r.why, matchers::contains("by_rows"));
}

TEST_CASE("a variant that cannot run any of its layer's cases is not admitted") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    const CheckReport report = check(runtime, *device, {.layers = {"never_proved"}, .own_cases_only = true});
    CHECK(report.unproved() == std::vector<std::string>{"never_proved, fast"});
    CHECK_FALSE(report.passed());
    const std::vector<AdmittedVariant> variants = admit(runtime, *device, {"never_proved"});
    REQUIRE(variants.size() == 2);
    CHECK(variants[0].admitted);
    CHECK(variants[1].variant == "fast");
    CHECK(variants[1].passed == 0);
    CHECK_FALSE(variants[1].admitted);
    CHECK(variants[1].why.empty()); // it is not barred either: nothing is known about it
    const std::vector<AdmittedVariant> known = proved(runtime, *device, {"never_proved"}); // the same, without a run
    REQUIRE(known.size() == 2);
    CHECK(known[0].admitted);
    CHECK(known[0].passed == variants[0].passed);
    CHECK(known[0].cases == variants[0].cases);
    CHECK_FALSE(known[1].admitted);
    CHECK(known[1].tried == known[1].cases);
    CHECK_THAT(message_of([&] { (void)admit(runtime, runtime.device("reference")); }),
               matchers::contains("name a Vulkan device"));
    SessionOptions options;
    options.variants["never_proved"] = "fast";
    Session session = runtime.session(runtime.load(model_of("never_proved")), *device, options);
    CHECK_THAT(message_of([&] {
                   (void)session.run("run", {{"x", ramp(2, 512)}});
               }),
               matchers::contains("failed its proof")); // a case with its own shapes was run, and failed
}

TEST_CASE("compare names the first layer that is wrong, its variant, device and driver, proved or not") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    const Model model = runtime.load(model_of("wrong_when_long"));
    CompareOptions options;
    options.inputs["x"] = ramp(3, 200);
    options.variants["wrong_when_long"] = "fast";
    const Comparison comparison = compare(runtime, model, *device, options);
    REQUIRE(comparison.layers.size() == 3);
    CHECK(comparison.layers[0].own.passed);
    CHECK_FALSE(comparison.layers[1].own.passed);
    CHECK(comparison.layers[1].own.index.back() >= 100);
    CHECK(comparison.layers[2].own.passed); // correct for correct inputs
    CHECK_FALSE(comparison.layers[2].accumulated.passed);
    REQUIRE(comparison.first_wrong() != nullptr);
    CHECK(comparison.first_wrong()->layer == "second");
    for (const std::string &part : {std::string("'second'"), std::string("variant fast"), device->name, device->driver})
        CHECK_THAT(comparison.summary(), matchers::contains(part));

    options.inputs["x"] = ramp(3, 90);
    CHECK(compare(runtime, model, *device, options).agrees());
}

TEST_CASE("compare decodes text as generation does, and names a layer that is wrong only in later steps") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    const std::string json = R"({"format": "lamina/1", "name": "echo", "summary": "", "graphs": {"decode": {
        "inputs": {"ids": {"dtype": "i32", "dims": "B T"}, "position": {"dtype": "i32", "dims": "B"}},
        "layers": [{"name": "embedding", "type": "embedding", "inputs": {"ids": "ids"}},
                   {"name": "first", "type": "wrong_when_later", "inputs": {"position": "position"}},
                   {"name": "second", "type": "wrong_when_later", "inputs": {"position": "position"}},
                   {"name": "generator", "type": "linear"}],
        "outputs": {"logits": "generator"}}},
        "generation": {"decode": "decode", "target_ids": "ids", "position": "position", "logits": "logits",
                       "start": "<s>", "end": "</s>", "max_length": 9,
                       "target": {"vocabulary": "words.txt", "split": "words"}}})";
    std::vector<float> numbers(4 * 8);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 7 % 11) * 0.1f - 0.5f;
    const Model model = runtime.load(ModelDescription{.name = "echo",
                                                      .json = json,
                                                      .weights = {{"embedding.table", Tensor::of({4, 8}, numbers)},
                                                                  {"generator.weight", Tensor::of({4, 8}, numbers)}},
                                                      .vocabularies = {{"words.txt", "<s>\n</s>\na\nb\n"}}});
    CompareOptions options;
    options.texts = {"a b b a b", "b"}; // up to 6 + 9 tokens: a cache of 16
    CHECK(compare(runtime, model, *device, options).agrees());
    forget_references(notices);
    REQUIRE(notices.size() == 1); // its own cases are too short to show the error, those made from the step are not
    CHECK_THAT(notices[0], matchers::contains("'wrong_when_later': variant 'fast' is barred"));

    options.variants["wrong_when_later"] = "fast";
    options.replay_folder = cache.path() / "replay";
    const Comparison comparison = compare(runtime, model, *device, options);
    REQUIRE(comparison.layers.size() == 7);
    for (size_t i = 0; i < 3; ++i) { // the first tokens of the prompt, without the layer that only scores need
        CHECK(comparison.layers[i].prompt);
        CHECK(comparison.layers[i].own.passed);
    }
    CHECK(comparison.layers[3].own.passed);
    for (const size_t wrong : {size_t{4}, size_t{5}}) { // even with correct inputs, the second one has its own error
        CHECK_FALSE(comparison.layers[wrong].own.passed);
        CHECK(comparison.layers[wrong].step == 4); // the first wrong token; later ones are not compared
    }
    CHECK(comparison.layers[6].own.passed);
    CHECK_THAT(comparison.summary(), matchers::contains("layer 'first'") && matchers::contains("decoding token 4"));

    // It is also wrong alone, because its state is saved with its inputs.
    for (const std::string variant : {"baseline", "fast"}) {
        const CheckReport report = check(runtime, *device, {.variants = {variant}, .replay = comparison.replay});
        REQUIRE(report.results.size() == 1);
        CHECK((report.results[0].status == CaseResult::Status::passed) == (variant == "baseline"));
    }
}

TEST_CASE("check finds the wrong variant and not the right one") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    for (const CaseResult &r : check(runtime, *device, {.layers = {"wrong_always"}, .own_cases_only = true}).results)
        CHECK((r.status == CaseResult::Status::failed) == (r.variant == "fast"));
}

TEST_CASE("a variant whose result depends on the previous contents of memory is caught") {
    const TemporaryFolder cache;
    std::vector<std::string> notices;
    const Runtime runtime = runtime_with(cache, notices);
    const auto device = first_vulkan(runtime);
    if (!device) return;
    std::set<std::string> failed;
    for (const CaseResult &r : check(runtime, *device, {.layers = {"careless"}, .own_cases_only = true}).results)
        if (r.status == CaseResult::Status::failed) failed.insert(r.variant);
    CHECK(failed == std::set<std::string>{"largest", "smallest", "sum", "beyond", "unbound"});

    // None of them ends a run, not even the one whose plan breaks its contract: a correct variant is used.
    const Model model = runtime.load(model_of("careless"));
    const TensorMap inputs{{"x", ramp(3, 40)}};
    const Tensor expected = runtime.session(model, runtime.device("reference")).run("run", inputs).at("y");
    CHECK(agree(runtime.session(model, *device).run("run", inputs).at("y"), expected));
    CHECK(std::any_of(notices.begin(), notices.end(), [](const std::string &n) {
        return n.find("'unbound' is barred") != std::string::npos && n.find("breaks its contract") != std::string::npos;
    }));
}
