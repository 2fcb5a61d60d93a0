#include "interpreter/subgroup.hpp"

#include <spirv_cross/spirv.h>

#include <algorithm>
#include <bit>
#include <map>

namespace lamina::interpreter {
namespace {

using Active = std::span<Invocation *const>;

float number(uint32_t word) { return std::bit_cast<float>(word); }
uint32_t add_floats(uint32_t a, uint32_t b) { return std::bit_cast<uint32_t>(number(a) + number(b)); }
uint32_t add_integers(uint32_t a, uint32_t b) { return a + b; }
uint32_t lesser_float(uint32_t a, uint32_t b) { return number(b) < number(a) ? b : a; }
uint32_t greater_float(uint32_t a, uint32_t b) { return number(a) < number(b) ? b : a; }

template <uint32_t (*combine)(uint32_t, uint32_t)> void reduce(Active active, const Instruction &i) {
    for (uint32_t k = 0; k < i.words; ++k) {
        uint32_t sum = active[0]->registers[i.a + k];
        for (Invocation *v : active.subspan(1)) sum = combine(sum, v->registers[i.a + k]);
        for (Invocation *v : active) v->registers[i.result + k] = sum;
    }
}

void elect(Active active, const Instruction &i) {
    for (Invocation *v : active) v->registers[i.result] = v == active[0] ? 1 : 0;
}
void all(Active active, const Instruction &i) {
    const bool result = std::ranges::all_of(active, [&](const Invocation *v) { return v->registers[i.a] != 0; });
    for (Invocation *v : active) v->registers[i.result] = result ? 1 : 0;
}
void any(Active active, const Instruction &i) {
    const bool result = std::ranges::any_of(active, [&](const Invocation *v) { return v->registers[i.a] != 0; });
    for (Invocation *v : active) v->registers[i.result] = result ? 1 : 0;
}
void ballot(Active active, const Instruction &i) { // 128 bits
    for (Invocation *v : active) std::fill_n(v->registers + i.result, i.words, 0);
    for (const Invocation *from : active)
        if (from->registers[i.a] != 0)
            for (Invocation *v : active) v->registers[i.result + from->lane / 32] |= 1u << from->lane % 32;
}

// Every invocation gets the value of the lane that `lane_of` gives for it.
template <uint32_t (*lane_of)(const Invocation &, const Instruction &)>
void take_from(Active active, const Instruction &i) {
    for (Invocation *v : active) {
        const uint32_t lane = lane_of(*v, i);
        const auto from = std::ranges::find_if(active, [&](const Invocation *other) { return other->lane == lane; });
        if (from == active.end())
            throw Fault("takes a value from lane " + std::to_string(lane) + ", which is not there");
        std::copy_n((*from)->registers + i.a, i.words, v->registers + i.result);
    }
}
uint32_t named_lane(const Invocation &v, const Instruction &i) { return v.registers[i.b]; }
uint32_t crossed_lane(const Invocation &v, const Instruction &i) { return v.lane ^ v.registers[i.b]; }

void take_from_first(Active active, const Instruction &i) {
    for (Invocation *v : active) std::copy_n(active[0]->registers + i.a, i.words, v->registers + i.result);
}

} // namespace

const SubgroupOperation *subgroup_operation(uint32_t opcode) {
    static const std::map<uint32_t, SubgroupOperation> table{
        {SpvOpGroupNonUniformElect, {elect}},
        {SpvOpGroupNonUniformAll, {all}},
        {SpvOpGroupNonUniformAny, {any}},
        {SpvOpGroupNonUniformBallot, {ballot}},
        {SpvOpGroupNonUniformBroadcast, {take_from<named_lane>}},
        {SpvOpGroupNonUniformBroadcastFirst, {take_from_first}},
        {SpvOpGroupNonUniformShuffle, {take_from<named_lane>}},
        {SpvOpGroupNonUniformShuffleXor, {take_from<crossed_lane>}},
        {SpvOpGroupNonUniformIAdd, {reduce<add_integers>, true}},
        {SpvOpGroupNonUniformFAdd, {reduce<add_floats>, true}},
        {SpvOpGroupNonUniformFMin, {reduce<lesser_float>, true}},
        {SpvOpGroupNonUniformFMax, {reduce<greater_float>, true}},
    };
    const auto found = table.find(opcode);
    return found == table.end() ? nullptr : &found->second;
}

} // namespace lamina::interpreter
