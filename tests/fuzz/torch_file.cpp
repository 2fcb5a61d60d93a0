// Files of torch.save(), in memory of their own, so that a read beyond their end is seen
#include "model/torch_file.hpp"
#include "fuzz.hpp"

#include <cstring>
#include <memory>
#include <span>
#include <vector>

void test::read(std::string_view input) {
    const auto owner = std::make_shared<std::vector<std::byte>>(input.size());
    if (!input.empty()) std::memcpy(owner->data(), input.data(), input.size());
    const lamina::model::Weights weights = lamina::model::parse_torch_file(*owner, owner, "pytorch_model.bin");
    unsigned sum = 0;
    const auto touch = [&](std::span<const std::byte> bytes) {
        for (const std::byte byte : bytes) sum += static_cast<unsigned>(byte);
    };
    for (const auto &[name, weight] : weights.entries()) touch(weight.bytes()); // views are copied here
    for (const auto &[name, tensor] : weights.others()) touch(tensor.stored);
    const volatile unsigned seen = sum; // so that the reads stay
    (void)seen;
}
