// Jumps, calls, and moves within composite values.
#include "interpreter/instructions.hpp"
#include "interpreter/module.hpp"

#include <algorithm>

namespace lamina::interpreter {

void move_words(Invocation &v, const Instruction &i) {
    for (const Copy &c : v.module->copies[i.list]) std::copy_n(v.registers + c.from, c.words, v.registers + c.to);
}

namespace {

uint32_t component(const Invocation &v, uint32_t index, uint32_t words) {
    const uint32_t found = v.registers[index];
    if (found >= words)
        throw Fault("takes component " + std::to_string(found) + " of a vector of " + std::to_string(words));
    return found;
}

} // namespace

void extract_dynamic(Invocation &v, const Instruction &i) {
    v.registers[i.result] = v.registers[i.a + component(v, i.b, i.words)];
}

void insert_dynamic(Invocation &v, const Instruction &i) {
    std::copy_n(v.registers + i.a, i.words, v.registers + i.result);
    v.registers[i.result + component(v, i.c, i.words)] = v.registers[i.b];
}

namespace {

// A jump back begins another round of a loop.
void go_to(Invocation &v, uint32_t next, uint32_t rounds) {
    if (next < v.next) v.rounds += rounds;
    v.next = next;
}

} // namespace

void jump(Invocation &v, const Instruction &i) {
    v.block = i.b;
    go_to(v, i.a, i.list);
}

void jump_if(Invocation &v, const Instruction &i) {
    v.block = i.b;
    go_to(v, v.registers[i.c] != 0 ? i.a : i.words, i.list);
}

void jump_by_value(Invocation &v, const Instruction &i) {
    const Switch &s = v.module->switches[i.list];
    const auto found = s.cases.find(v.registers[i.c]);
    v.block = i.b;
    v.next = found != s.cases.end() ? found->second : s.otherwise;
}

// A phi may read another one of its block, with the value from before.
void join(Invocation &v, const Instruction &i) {
    std::vector<uint32_t> values;
    const std::vector<Phi> &phis = v.module->phis[i.list];
    for (const Phi &phi : phis) {
        const uint32_t *from = v.registers + phi.from.at(v.block);
        values.insert(values.end(), from, from + phi.words);
    }
    auto value = values.begin();
    for (const Phi &phi : phis) {
        std::copy_n(value, phi.words, v.registers + phi.to);
        value += phi.words;
    }
}

void call(Invocation &v, const Instruction &i) {
    v.calls.push_back({v.next, i.result});
    v.next = v.module->functions[i.list].begin;
}

// SPIR-V has no recursion, so each function has one place for its variables.
void enter(Invocation &v, const Instruction &i) {
    const Function &f = v.module->functions[i.list];
    std::fill(v.is_written + f.local, v.is_written + f.local_end, uint8_t{0});
}

void leave(Invocation &v, const Instruction &i) {
    if (v.calls.empty()) {
        v.state = Invocation::State::finished;
        return;
    }
    const Invocation::Return back = v.calls.back();
    v.calls.pop_back();
    std::copy_n(v.registers + i.a, i.words, v.registers + back.result);
    v.next = back.to;
}

void stop_at_unreachable(Invocation &, const Instruction &) { throw Fault("reaches what is declared unreachable"); }

void wait_for_others(Invocation &v, const Instruction &) { v.state = Invocation::State::waiting; }

void flush(Invocation &v, const Instruction &i) { v.flushes |= i.a; }

} // namespace lamina::interpreter
