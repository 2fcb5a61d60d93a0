// A plugin's hash is that of the code that runs, not of the current file.
#include "abi/library.hpp"

#include "catch.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"

using namespace lamina;
namespace fs = std::filesystem;

namespace {

// Replaces a file with a new one, as a linker does.
void replace(const fs::path &with, const fs::path &file) {
    fs::remove(file);
    fs::copy_file(with, file);
}

fs::path built(const std::string &layer) { return fs::path(LAMINA_PLUGIN_DIR) / ("lamina_" + layer + ".so"); }

} // namespace

TEST_CASE("library: a plugin that is rebuilt while the process runs keeps the hash of the code that runs") {
    const TemporaryFolder folder, other;
    const fs::path file = folder.path() / "lamina_rebuilt.so";
    replace(built("layer_norm"), file);
    const uint64_t hash = abi::Registry::discover({folder.path()})->layer("layer_norm").hash;
    replace(built("softmax"), file);
    const auto again = abi::Registry::discover({folder.path()});
    REQUIRE(again->layers().contains("layer_norm")); // the system returns the library that is already loaded
    CHECK(again->layer("layer_norm").hash == hash);
    replace(built("softmax"), other.path() / "lamina_softmax.so");
    CHECK(abi::Registry::discover({other.path()})->layer("softmax").hash != hash);
}

TEST_CASE("library: a plugin that is replaced while being loaded is refused for the rest of the process") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "lamina_replaced.so";
    for (int again = 0; again < 2; ++again) {
        replace(LAMINA_REPLACED_PLUGIN, file);
        const auto registry = abi::Registry::discover({folder.path()});
        CHECK(registry->layers().empty());
        REQUIRE(registry->rejected().size() == 1);
        CHECK_THAT(registry->rejected()[0].reason, matchers::contains("replaced while it was being loaded"));
    }
}

TEST_CASE("library: a file that cannot be read is refused, and the rest is found") {
    const TemporaryFolder folder;
    fs::create_symlink(folder.path() / "nowhere", folder.path() / "lamina_nowhere.so");
    replace(built("softmax"), folder.path() / "lamina_softmax.so");
    const auto registry = abi::Registry::discover({folder.path()});
    CHECK(registry->layers().contains("softmax"));
    CHECK(registry->rejected().size() == 1);
}
