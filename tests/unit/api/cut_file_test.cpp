#include "catch.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"

#include <lamina/lamina.hpp>

using namespace lamina;

TEST_CASE("a model whose file is cut while it is used gives an error and no numbers; other models go on") {
    const std::filesystem::path own = LAMINA_SOURCE_DIR "/models/g2p";
    const TemporaryFolder folder;
    const auto cut = folder.path() / "cut";
    std::filesystem::copy(own, cut, std::filesystem::copy_options::recursive);

    const Runtime runtime({.plugin_folders = {LAMINA_PLUGIN_DIR}, .cache = false});
    const auto said = [](Session &session) { return session.generate({"vulkan"}).front(); };
    Session session = runtime.session(runtime.load(cut), runtime.device("cpu"));
    Session other = runtime.session(runtime.load(own), runtime.device("cpu"));
    const std::string text = said(session);
    CHECK(said(other) == text);

    std::filesystem::resize_file(cut / "model.safetensors", 100'000);
    for (int i = 0; i < 2; ++i)
        CHECK_THAT(message_of([&] { (void)said(session); }),
                   matchers::contains("model.safetensors: a part of it could not be read while it was in use"));
    CHECK(said(other) == text);
}
