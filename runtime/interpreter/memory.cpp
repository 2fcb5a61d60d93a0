// Loads, stores and the pointers for them. Every index is compared with the size of what it is an index of.
#include "interpreter/memory.hpp"

#include "interpreter/instructions.hpp"
#include "interpreter/workgroup.hpp"

#include <algorithm>

namespace lamina::interpreter {
namespace {

[[noreturn]] void report_unwritten(const std::string &what) {
    throw Fault("reads " + what + ", which nothing has written");
}

std::string local_part(const Invocation &v, const Part &part, uint32_t word) {
    const auto variable = v.module->variables.find(part.variable);
    if (variable == v.module->variables.end()) return v.module->name_of(part.variable); // through a parameter
    return variable->second.name + v.module->types.part(variable->second.type, word - variable->second.place);
}

// Calls access(word of the value, word of memory) for every word of a part of memory that begins at `from`.
template <class F> void for_each_word(const Part &part, uint32_t from, uint32_t words, const F &access) {
    if (part.places.empty())
        for (uint32_t k = 0; k < words; ++k) access(k, from + k);
    else
        for (uint32_t k = 0; k < words; ++k) access(k, from + part.places[k]);
}

void expect_inside(const Invocation &v, const Part &part, const Bound &bound, uint32_t word) {
    if (word < bound.words) return;
    throw Fault("accesses word " + std::to_string(word) + " of the buffer of " +
                v.module->buffer_part(part.variable, 0) + ", which has " + std::to_string(bound.words));
}

} // namespace

void report_outside(const Invocation &v, const Chain &chain, size_t last, uint64_t index, uint32_t count) {
    std::string what = v.module->name_of(chain.variable);
    uint32_t type = chain.type;
    for (size_t s = 0; s <= last; ++s) {
        const Type &t = v.module->types[type];
        const ChainStep &step = chain.steps[s];
        if (step.is_member)
            what += (what.empty() ? "" : ".") + t.names[step.index];
        else
            what += "[" + std::to_string(s == last ? index : v.registers[step.index]) + "]";
        type = step.is_member ? t.members[step.index] : t.element;
    }
    throw Fault("accesses " + what + ", but the array has length " + std::to_string(count));
}

uint32_t length_of(const Invocation &v, const ChainStep &step, uint32_t binding, uint32_t begin) {
    if (step.count != 0) return step.count;
    const uint32_t words = v.workgroup->binding(binding).words;
    return words < begin ? 0 : (words - begin) / step.stride;
}

void access_chain(Invocation &v, const Instruction &i) {
    const Chain &chain = v.module->chains[i.list];
    uint32_t place = v.registers[i.a];
    for (size_t s = 0; s < chain.steps.size(); ++s) {
        const ChainStep &step = chain.steps[s];
        if (step.is_member) {
            place += step.stride;
            continue;
        }
        const uint32_t index = v.registers[step.index], count = length_of(v, step, i.b, place);
        if (index >= count) report_outside(v, chain, s, index, count);
        place += index * step.stride;
    }
    v.registers[i.result] = place;
}

void array_length(Invocation &v, const Instruction &i) {
    const uint32_t words = v.workgroup->binding(i.b).words;
    v.registers[i.result] = words < i.a ? 0 : (words - i.a) / i.c;
}

void load_local(Invocation &v, const Instruction &i) {
    const Part &part = v.module->parts[i.list];
    for_each_word(part, v.registers[i.a], i.words, [&](uint32_t k, uint32_t word) {
        if (v.is_written[word] == 0) report_unwritten(local_part(v, part, word));
        v.registers[i.result + k] = v.local[word];
    });
}

void store_local(Invocation &v, const Instruction &i) {
    for_each_word(v.module->parts[i.list], v.registers[i.a], i.words, [&](uint32_t k, uint32_t word) {
        v.local[word] = v.registers[i.c + k];
        v.is_written[word] = 1;
    });
}

void load_push(Invocation &v, const Instruction &i) {
    const std::span<const uint32_t> push = v.workgroup->push();
    for_each_word(v.module->parts[i.list], v.registers[i.a], i.words, [&](uint32_t k, uint32_t word) {
        if (word >= push.size()) throw Fault("reads beyond the push constants");
        v.registers[i.result + k] = push[word];
    });
}

uint32_t read_shared(const Invocation &v, uint32_t word, const Access &now) {
    Workgroup &group = *v.workgroup;
    Shadow &shadow = group.shared_shadow[word];
    if (!shadow.is_written()) report_unwritten(v.module->shared_part(word));
    if (const Access *earlier = shadow.read(now, group.first_epoch()))
        group.report_race(v.module->shared_part(word), false, *earlier, true);
    return group.shared[word];
}

void write_shared(const Invocation &v, uint32_t word, uint32_t value, const Access &now) {
    Workgroup &group = *v.workgroup;
    Shadow &shadow = group.shared_shadow[word];
    if (const Access *earlier = shadow.write(now, group.first_epoch()))
        group.report_race(v.module->shared_part(word), true, *earlier, shadow.wrote(*earlier));
    group.shared[word] = value;
}

uint32_t read_buffer(const Invocation &v, uint32_t binding, const Part &part, uint32_t word, const Access &now) {
    const Workgroup &group = *v.workgroup;
    const Bound &bound = group.binding(binding);
    expect_inside(v, part, bound, word);
    Memory &memory = *bound.memory;
    const uint32_t at = bound.first + word;
    if (!memory.is_written.empty() && memory.is_written[at] == 0)
        report_unwritten(v.module->buffer_part(part.variable, word));
    if (!memory.shadow.empty())
        if (const Access *earlier = memory.shadow[at].read(now, group.first_epoch()))
            group.report_race(v.module->buffer_part(part.variable, word), false, *earlier, true);
    return memory.words[at];
}

void write_buffer(const Invocation &v, uint32_t binding, const Part &part, uint32_t word, uint32_t value,
                  const Access &now) {
    const Workgroup &group = *v.workgroup;
    const Bound &bound = group.binding(binding);
    expect_inside(v, part, bound, word);
    Memory &memory = *bound.memory;
    const uint32_t at = bound.first + word;
    Shadow &shadow = memory.shadow[at];
    if (const Access *earlier = shadow.write(now, group.first_epoch()))
        group.report_race(v.module->buffer_part(part.variable, word), true, *earlier, shadow.wrote(*earlier));
    if (!memory.is_written.empty()) memory.is_written[at] = 1;
    memory.words[at] = value;
}

void load_shared(Invocation &v, const Instruction &i) {
    for_each_word(v.module->parts[i.list], v.registers[i.a], i.words,
                  [&](uint32_t k, uint32_t word) { v.registers[i.result + k] = read_shared(v, word, v.in_shared); });
}

void store_shared(Invocation &v, const Instruction &i) {
    for_each_word(v.module->parts[i.list], v.registers[i.a], i.words,
                  [&](uint32_t k, uint32_t word) { write_shared(v, word, v.registers[i.c + k], v.in_shared); });
}

void load_buffer(Invocation &v, const Instruction &i) {
    const Part &part = v.module->parts[i.list];
    for_each_word(part, v.registers[i.a], i.words, [&](uint32_t k, uint32_t word) {
        v.registers[i.result + k] = read_buffer(v, i.b, part, word, v.in_buffers);
    });
}

void store_buffer(Invocation &v, const Instruction &i) {
    const Part &part = v.module->parts[i.list];
    for_each_word(part, v.registers[i.a], i.words, [&](uint32_t k, uint32_t word) {
        write_buffer(v, i.b, part, word, v.registers[i.c + k], v.in_buffers);
    });
}

} // namespace lamina::interpreter
