// .safetensors
#include "model/safetensors.hpp"
#include "fuzz.hpp"
#include "temporary_folder.hpp"

void test::read(std::string_view input) {
    static const TemporaryFolder folder;
    (void)lamina::model::open_safetensors(folder.write("model.safetensors", input));
}
