// Sessions and runtimes with invalid arguments.
#include <lamina/lamina.hpp>
#include <lamina/proof.hpp>

#include "catch.hpp"
#include "environment.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"
#include "vulkan_devices.hpp"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <thread>

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

TEST_CASE("`working` is called before each piece of work, on the caller's thread, and may stop it") {
    struct Stopped {};
    size_t pieces = 0, most = SIZE_MAX;
    const std::thread::id caller = std::this_thread::get_id();
    RuntimeOptions watched = options();
    watched.working = [&] {
        CHECK(std::this_thread::get_id() == caller);
        if (++pieces > most) throw Stopped();
    };
    const Runtime runtime(watched);
    const auto pieces_of = [&](const std::function<void()> &call) { return pieces = 0, call(), pieces; };
    const auto stops_at = [&](size_t piece, const std::function<void()> &call) {
        pieces = 0, most = piece;
        CHECK_THROWS_AS(call(), Stopped);
        CHECK(pieces == piece + 1);
        most = SIZE_MAX;
    };
    const Model g2p = runtime.load(std::string(LAMINA_SOURCE_DIR) + "/models/g2p");
    Session session = runtime.session(g2p, runtime.device("cpu"));
    std::string phones;
    const auto generate = [&] { phones = session.generate({"vulkan"}).front(); };
    const size_t all = pieces_of(generate);
    CHECK(all > 8); // the encoder and its layers, six phones and the end
    for (const size_t piece : {size_t{1}, all - 2}) stops_at(piece, generate);
    phones.clear();
    CHECK(pieces_of(generate) == all); // and works as before
    CHECK(phones == "V AH1 L K AH0 N");

    const Model softmax = softmax_in(runtime);
    Session numbers = runtime.session(softmax, runtime.device("cpu"));
    const TensorMap inputs{{"x", Tensor(TensorType{DType::f32, {3}})}};
    CHECK(pieces_of([&] { (void)numbers.run("run", inputs); }) == 2); // the graph, and its layer
    stops_at(1, [&] { (void)numbers.run("run", inputs); });
    const auto compare_often = [&] {
        (void)compare(runtime, softmax, runtime.device("cpu"), {.inputs = inputs, .repeat = 100});
    };
    CHECK(pieces_of(compare_often) > 2 * 99); // the layer alone, and the graph
    for (const size_t piece : {size_t{0}, size_t{1}, size_t{5}, size_t{150}}) stops_at(piece, compare_often);
    const auto check_cases = [&] {
        (void)check(runtime, runtime.device("cpu"), {.layers = {"softmax"}, .own_cases_only = true});
    };
    CHECK(pieces_of(check_cases) > 3);
    stops_at(2, check_cases);
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
    test::set_variable("XDG_CACHE_HOME", cache.path().string());
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
