// GGUF files, with the model that they hold
#include "fuzz.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"
#include "temporary_folder.hpp"

void test::read(std::string_view input) {
    static const TemporaryFolder folder;
    (void)runtime().load(folder.write("model.gguf", input));
}
