// .npy
#include "fuzz.hpp"
#include "temporary_folder.hpp"

#include <lamina/npy.hpp>

void test::read(std::string_view input) {
    static const TemporaryFolder folder;
    (void)lamina::read_npy(folder.write("tensor.npy", input));
}
