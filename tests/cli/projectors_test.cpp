// --mmproj. tests/architectures/projectors_test.cpp compares what models in GGUF files see.
#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

using matchers::contains;
using nlohmann::json;

namespace projectors {
namespace {

const std::filesystem::path of_tests = LAMINA_SOURCE_DIR "/tests/architectures";
const std::string photo = (of_tests / "images" / "files" / "photo.png").string();
const std::filesystem::path llava = of_tests / "models" / "gguf_llava_sees";

// What the model says of a photo, by transformers.
std::string said() {
    std::string out;
    const json all = json::parse(std::ifstream(of_tests / "seeing" / "projectors.json"));
    for (const int32_t id : all["gguf_llava_sees"][0]["answer"])
        if (id > 2 && id < 50) out += (out.empty() ? "w" : " w") + std::to_string(id);
    return out;
}

} // namespace

TEST_CASE("--mmproj: commands that load a GGUF file see with a projector beside it, or a named one") {
    const TemporaryFolder folder;
    const std::string model = (folder.path() / "llava.gguf").string(), sees = (folder.path() / "sees.gguf").string();
    std::filesystem::copy_file(llava / "model.gguf", model);
    std::filesystem::copy_file(llava / "mmproj.gguf", sees);
    const auto chat = [](const std::string &of, std::vector<std::string> more) {
        more.insert(more.begin(), {"chat", of, "w38 w19 w5", "--image", photo, "-d", "cpu", "--max-length", "6",
                                   "--ignore-end", "--temperature", "0"});
        return run_lamina(more);
    };
    CHECK_THAT(chat((llava / "model.gguf").string(), {}).out, contains(said()));
    CHECK_THAT(chat(model, {"--mmproj", sees}).out, contains(said()));
    const Finished blind = chat(model, {});
    CHECK(blind.status == 2);
    CHECK_THAT(blind.err,
               contains("--image: llava takes no images in prompts; give its projector, a file mmproj-*.gguf, "
                        "with --mmproj, or put it beside the model"));

    const std::string golden = (llava / "golden.safetensors").string();
    CHECK(run_lamina({"compare", model, "--mmproj", sees, "--with", golden, "-d", "cpu"}).status == 0);
    CHECK(run_lamina({"run", model, "--mmproj", sees, "--image", photo, "<image> w3", "-d", "cpu"}).status == 0);
    const json inside = json::parse(run_lamina({"inspect", "--json", model, "--mmproj", sees}).out);
    CHECK_THAT(inside.at("notes").at(0).get<std::string>(), contains("images are read by " + sees));
    const std::string converted = (folder.path() / "converted").string();
    CHECK(run_lamina({"convert", model, converted, "--mmproj", sees}).status == 0);
    CHECK_THAT(chat(converted, {}).out, contains(said()));
}

TEST_CASE("--mmproj: what is no projector, or has no place, is said") {
    const std::string model = (llava / "model.gguf").string(), sees = (llava / "mmproj.gguf").string();
    const auto refused = [](const std::vector<std::string> &arguments, int status) {
        const Finished f = run_lamina(arguments);
        CHECK(f.status == status);
        return f.err;
    };
    CHECK_THAT(refused({"inspect", model, "--mmproj", model}, 3), contains("this is no projector"));
    CHECK_THAT(refused({"inspect", sees}, 3), contains("give that model, and --mmproj with this file"));
    CHECK_THAT(refused({"inspect", (of_tests / "models" / "llama").string(), "--mmproj", sees}, 3),
               contains("has its own part for images"));
    CHECK_THAT(refused({"serve", model, "second=" + model, "--port", "0", "--mmproj", sees}, 2),
               contains("--mmproj: expected one MODEL, whose images it reads; found 2"));
}

} // namespace projectors
