// What `lamina compare --replay` writes
#include "conformance/replay.hpp"
#include "fuzz.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"

#include "abi/library.hpp"

void test::read(std::string_view input) {
    static const auto plugins = lamina::abi::Registry::discover({LAMINA_PLUGIN_DIR});
    static const TemporaryFolder folder;
    (void)lamina::conformance::read_replay(folder.write("replay.safetensors", input), *plugins);
}
