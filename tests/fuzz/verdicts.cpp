// The cache of verdicts
#include "admission/verdicts.hpp"
#include "fuzz.hpp"
#include "temporary_folder.hpp"

void test::read(std::string_view input) {
    static const TemporaryFolder folder;
    lamina::admission::Verdicts(folder.write("verdicts.json", input)).save();
}
