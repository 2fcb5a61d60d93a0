#include "plan/spirv_cross/accesses.hpp"

#include <spirv_cross/spirv_cross_c.h>

#include <algorithm>
#include <map>

namespace lamina::plan {
namespace {

// Not in every release of the headers.
constexpr uint32_t load_matrix = 4457, store_matrix = 4458; // OpCooperativeMatrixLoadKHR, OpCooperativeMatrixStoreKHR

bool is_atomic(uint32_t opcode) { return opcode >= SpvOpAtomicLoad && opcode <= SpvOpAtomicXor; }

} // namespace

Accesses accesses_of(std::span<const uint32_t> words) {
    constexpr size_t header = 5;
    Accesses out;
    std::map<uint32_t, uint32_t> variables; // what a pointer points into, by id
    const auto touch = [&](std::set<uint32_t> &which, uint32_t pointer) {
        if (const auto found = variables.find(pointer); found != variables.end()) which.insert(found->second);
    };
    for (size_t at = header; at < words.size();) {
        const size_t count = std::clamp<size_t>(words[at] >> 16u, 1, words.size() - at);
        const uint32_t opcode = words[at] & 0xffffu;
        const std::span<const uint32_t> operands = words.subspan(at + 1, count - 1);
        at += count;
        if (operands.size() < 2) continue;
        if (opcode == SpvOpVariable) {
            variables[operands[1]] = operands[1];
        } else if (opcode == SpvOpStore || opcode == SpvOpAtomicStore || opcode == store_matrix) {
            touch(out.written, operands[0]);
        } else if (opcode == SpvOpCopyMemory) {
            touch(out.written, operands[0]), touch(out.read, operands[1]);
        } else if (operands.size() >= 3) { // type, result, pointer
            const uint32_t pointer = operands[2];
            if (opcode == SpvOpAccessChain || opcode == SpvOpInBoundsAccessChain || opcode == SpvOpCopyObject) {
                if (const auto found = variables.find(pointer); found != variables.end())
                    variables[operands[1]] = found->second;
            } else if (opcode == SpvOpLoad || opcode == load_matrix || is_atomic(opcode)) {
                touch(out.read, pointer);
                if (is_atomic(opcode) && opcode != SpvOpAtomicLoad) touch(out.written, pointer);
            }
        }
    }
    return out;
}

} // namespace lamina::plan
