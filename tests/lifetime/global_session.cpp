// A runtime and a session as globals, which use Vulkan only within a test. At exit, the newer globals of the driver and
// the validation layers are destroyed first. The program must exit with 0 and not crash.
#include "catch.hpp"
#include "places.hpp"
#include "vulkan_devices.hpp"

#include <lamina/transformer.hpp>

#include <optional>

namespace {

const lamina::RuntimeOptions options{.plugin_folders = {LAMINA_PLUGIN_DIR}, .cache = false};
lamina::Runtime &runtime() {
    static lamina::Runtime global(options);
    return global;
}
std::optional<lamina::Session> session;

bool run(const lamina::Runtime &on, std::optional<lamina::Session> &made) {
    made = on.session(on.load(lamina::build(lamina::TransformerLayer{.d_model = 8, .heads = 2, .ffn = 8})),
                      test::vulkan_devices(on).front());
    lamina::Tensor lengths({lamina::DType::i32, {1}});
    lengths.i32()[0] = 3;
    const auto out =
        made->run("encode", {{"source", lamina::Tensor({lamina::DType::f32, {1, 3, 8}})}, {"source_lengths", lengths}});
    return out.at("memory").shape() == lamina::Shape{1, 3, 8};
}

} // namespace

TEST_CASE("globals outlive the driver's globals") {
    if (test::vulkan_devices(runtime()).empty()) return;
    CHECK(run(runtime(), session));
    // Creates and destroys a second runtime, so that drivers and layers must look up their state of the first one
    // again.
    const lamina::Runtime other(options);
    std::optional<lamina::Session> local;
    CHECK(run(other, local));
}
