// Sessions and runtimes with invalid arguments.
#include <lamina/lamina.hpp>
#include <lamina/proof.hpp>

#include "catch.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"
#include "vulkan_devices.hpp"

#include <cstdlib>
#include <functional>

using namespace lamina;

namespace {

RuntimeOptions options() {
    RuntimeOptions out;
    out.plugin_folders = {LAMINA_PLUGIN_DIR};
    out.cache = false;
    return out;
}

Model softmax_in(const Runtime &runtime) {
    return runtime.load(ModelDescription{.name = "softmax",
                                         .json = R"({"format": "lamina/1", "name": "softmax", "summary": "", "graphs":
                                             {"run": {"inputs": {"x": {"dtype": "f32", "dims": "C"}},
                                                      "layers": [{"name": "p", "type": "softmax", "inputs": {"x": "x"}}],
                                                      "outputs": {"p": "p"}}}})",
                                         .weights = {},
                                         .vocabularies = {}});
}

ErrorCode code_of(const std::function<void()> &action) {
    try {
        action();
    } catch (const Error &e) {
        return e.code();
    }
    return {};
}

} // namespace

TEST_CASE("an input of another dtype is refused, also when its shape has run before") {
    const Runtime runtime(options());
    const Model model = softmax_in(runtime);
    Session session = runtime.session(model, runtime.device("cpu"));
    Tensor right(TensorType{DType::f32, {3}}), wrong(TensorType{DType::i32, {3}});
    const auto refusal = [&] { return message_of([&] { (void)session.run("run", {{"x", wrong}}); }); };
    CHECK_THAT(refusal(), matchers::contains("expected f32, found i32"));
    CHECK(session.run("run", {{"x", right}}).at("p").f32()[0] == 1.0f / 3);
    CHECK_THAT(refusal(), matchers::contains("expected f32, found i32"));
}

TEST_CASE("a comparison with itself is refused") {
    const Runtime runtime(options());
    const Model model = softmax_in(runtime);
    CHECK_THAT(message_of([&] { (void)compare(runtime, model, runtime.device("cpu"), {.against = "cpu"}); }),
               matchers::contains("nothing to compare"));
}

TEST_CASE("an invented device is an error") {
    const Runtime runtime(options());
    const Model model = softmax_in(runtime);
    for (const char *id :
         {"", "cuda", "vulkan:", "vulkan:x", "vulkan:1x", "vulkan:-1", "vulkan:99999999999", "vulkan:99"}) {
        INFO(id);
        Device made_up = runtime.device("cpu");
        made_up.id = id;
        made_up.kind = "discrete";
        CHECK(code_of([&] {
                  (void)runtime.session(model, made_up).run("run", {{"x", Tensor({DType::f32, {3}})}});
              }) == ErrorCode::no_device);
    }
}

TEST_CASE("a runtime without a cache writes nothing") {
    const TemporaryFolder cache;
    setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
    {
        const Runtime runtime(options());
        const Model model = softmax_in(runtime);
        std::vector<Device> devices = test::vulkan_devices(runtime);
        devices.push_back(runtime.device("cpu"));
        for (const Device &device : devices)
            (void)runtime.session(model, device).run("run", {{"x", Tensor({DType::f32, {3}})}});
    }
    CHECK_FALSE(std::filesystem::exists(cache.path() / "lamina"));
}
