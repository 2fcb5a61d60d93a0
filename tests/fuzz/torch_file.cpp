// Files of torch.save()
#include "model/torch_file.hpp"
#include "fuzz.hpp"
#include "temporary_folder.hpp"

void test::read(std::string_view input) {
    static const TemporaryFolder folder;
    const lamina::model::Weights weights = lamina::model::open_torch_file(folder.write("pytorch_model.bin", input));
    for (const auto &[name, weight] : weights.entries()) (void)weight.bytes(); // views are copied here
}
