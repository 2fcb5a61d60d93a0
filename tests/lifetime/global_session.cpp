// A runtime and a session as globals, of which Vulkan is asked only in main(): at exit the driver's own globals,
// younger than these, are gone before them. Ends with 0, and not by a signal.
#include <lamina/lamina.hpp>
#include <lamina/transformer.hpp>

#include <iostream>
#include <optional>

namespace {

lamina::Runtime &runtime() {
    static lamina::Runtime global({.plugin_folders = {LAMINA_PLUGIN_DIR}, .cache = false});
    return global;
}
std::optional<lamina::Session> session;

} // namespace

int main() {
    if (runtime().devices().size() == 1) {
        std::cout << "SKIPPED: driver any: no Vulkan device\n";
        return 0;
    }
    session =
        runtime().session(runtime().load(lamina::build(lamina::TransformerLayer{.d_model = 8, .heads = 2, .ffn = 8})),
                          runtime().device("vulkan:0"));
    lamina::Tensor lengths({lamina::DType::i32, {1}});
    lengths.i32()[0] = 3;
    const auto out = session->run(
        "encode", {{"source", lamina::Tensor({lamina::DType::f32, {1, 3, 8}})}, {"source_lengths", lengths}});
    return out.at("memory").shape() == lamina::Shape{1, 3, 8} ? 0 : 1;
}
