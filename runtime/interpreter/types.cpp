#include "interpreter/types.hpp"

#include <spirv_cross/spirv.h>

#include <algorithm>

namespace lamina::interpreter {
namespace {

uint32_t words_of(uint32_t bytes) {
    if (bytes % 4 != 0) throw Unknown("memory that is not made of 32-bit words");
    return bytes / 4;
}

Type number(uint32_t op, uint32_t bits) {
    if (bits != 32 && !(bits == 16 && op == SpvOpTypeFloat))
        throw Unknown("numbers of " + std::to_string(bits) + " bits");
    return {.op = op, .words = 1, .span = 1, .bits = bits};
}

} // namespace

void Types::add(std::span<const uint32_t> in, const Layout &layout, uint32_t length) {
    const uint32_t op = in[0] & 0xffffu, id = in[1];
    Type type{.op = op};
    switch (op) {
    case SpvOpTypeVoid:
    case SpvOpTypeFunction:
        break;
    case SpvOpTypeBool:
        type.words = type.span = 1;
        break;
    case SpvOpTypeInt:
    case SpvOpTypeFloat:
        type = number(op, in[2]);
        break;
    case SpvOpTypeVector:
        type.element = in[2], type.count = in[3], type.stride = 1;
        type.words = type.span = type.count;
        break;
    case SpvOpTypeArray:
    case SpvOpTypeRuntimeArray:
        type.element = in[2], type.count = length;
        type.stride = layout.stride != 0 ? words_of(layout.stride) : types_.at(in[2]).span;
        type.words = length * types_.at(in[2]).words;
        type.span = length * type.stride;
        break;
    case SpvOpTypeStruct:
        type = struct_of(in, layout);
        break;
    case SpvOpTypePointer:
        type.words = 1, type.storage = in[2], type.element = in[3];
        break;
    default:
        throw Unknown("SPIR-V type " + std::to_string(op));
    }
    types_[id] = std::move(type);
}

void Types::add_matrix(uint32_t id, uint32_t component, uint32_t rows, uint32_t cols, uint32_t invocations) {
    Type type{.op = op_type_cooperative_matrix, .element = component, .stride = 1, .rows = rows, .cols = cols};
    type.count = type.words = type.span = (rows * cols + invocations - 1) / invocations;
    types_[id] = std::move(type);
}

bool Types::is_of_halves(uint32_t id) const {
    const Type *type = &types_.at(id);
    while (type->element != 0 && type->op != SpvOpTypePointer) type = &types_.at(type->element);
    return type->bits == 16;
}

Type Types::struct_of(std::span<const uint32_t> in, const Layout &layout) const {
    Type type{.op = SpvOpTypeStruct};
    for (uint32_t i = 0; i + 2 < in.size(); ++i) {
        const Type &member = types_.at(in[i + 2]);
        const auto offset = layout.offset.find(i);
        const auto name = layout.names.find(i);
        if (offset != layout.offset.end() && is_of_halves(in[i + 2])) throw Unknown("numbers of 16 bits in a buffer");
        type.members.push_back(in[i + 2]);
        type.offsets.push_back(offset != layout.offset.end() ? words_of(offset->second) : type.span);
        type.names.push_back(name != layout.names.end() ? name->second : std::to_string(i));
        type.words += member.words;
        type.span = std::max(type.span, type.offsets.back() + member.span);
    }
    return type;
}

std::vector<uint32_t> Types::places(uint32_t type) const {
    std::vector<uint32_t> out;
    append_places(type, 0, out);
    for (uint32_t i = 0; i < out.size(); ++i)
        if (out[i] != i) return out;
    return {};
}

void Types::append_places(uint32_t id, uint32_t from, std::vector<uint32_t> &out) const {
    const Type &type = types_.at(id);
    if (type.element != 0 && type.op != SpvOpTypePointer)
        for (uint32_t i = 0; i < type.count; ++i) append_places(type.element, from + i * type.stride, out);
    else if (type.op == SpvOpTypeStruct)
        for (size_t i = 0; i < type.members.size(); ++i) append_places(type.members[i], from + type.offsets[i], out);
    else
        out.push_back(from);
}

std::string Types::part(uint32_t id, uint32_t word) const {
    const Type &type = types_.at(id);
    if (type.op == SpvOpTypeVector) return std::string(".") + "xyzw"[std::min(word, 3u)];
    if (type.op == SpvOpTypeArray || type.op == SpvOpTypeRuntimeArray)
        return "[" + std::to_string(word / type.stride) + "]" + part(type.element, word % type.stride);
    if (type.op == op_type_cooperative_matrix) return "[" + std::to_string(word) + "]";
    if (type.op != SpvOpTypeStruct) return "";
    size_t member = type.offsets.size() - 1;
    while (member > 0 && type.offsets[member] > word) --member;
    return "." + type.names[member] + part(type.members[member], word - type.offsets[member]);
}

} // namespace lamina::interpreter
