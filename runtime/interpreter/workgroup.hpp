// Runs a kernel, workgroup by workgroup.
#pragma once

#include "interpreter/module.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lamina::interpreter {

// Memory of the device: a tensor, or a block of scratch.
struct Memory {
    std::vector<uint32_t> words;
    std::vector<uint8_t> is_written{}; // by word; empty: all are
    std::vector<Shadow> shadow{};      // by word; empty until a kernel writes here
};

struct Bound { // a binding
    Memory *memory = nullptr;
    uint32_t first = 0, words = 0;
    bool writes = false;
};

struct Dispatch {
    const Module &module;
    std::array<uint32_t, 3> groups;
    std::vector<Bound> bindings;
    std::span<const uint32_t> push;
    uint32_t subgroup;            // invocations in one
    uint64_t *most_run = nullptr; // the most rounds of loops that an invocation has run
};

class Workgroup {
  public:
    // `epoch` counts barriers. It goes on from dispatch to dispatch.
    Workgroup(const Dispatch &dispatch, uint32_t &epoch);
    // Runs one workgroup after the other. Throws Fault, which says who did what where.
    void run_all();

    // For instructions.
    [[nodiscard]] const Bound &binding(uint32_t number) const { return dispatch_.bindings.at(number); }
    [[nodiscard]] std::span<const uint32_t> push() const { return dispatch_.push; }
    std::vector<uint32_t> shared;
    std::vector<Shadow> shared_shadow;
    // Throws Fault for a race: `what` is accessed now, and was accessed before by `earlier`.
    [[noreturn]] void report_race(const std::string &what, bool writes, const Access &earlier, bool wrote) const;
    [[nodiscard]] uint32_t first_epoch() const { return first_epoch_; }

  private:
    void start(uint32_t number);
    void set_builtins(Invocation &v);
    void run_one();
    void run_until_it_waits(Invocation &v);
    void count_rounds(const Invocation &v) const;
    [[nodiscard]] bool meet_in_subgroups();
    [[nodiscard]] bool meet_in_workgroup();
    void pass_barrier(std::span<Invocation *const> waiting, const Meeting &meeting);
    [[noreturn]] void report_divergence() const;
    [[nodiscard]] std::string place_of(const Invocation &v) const;
    [[nodiscard]] std::string who(const Access &access) const;

    const Dispatch &dispatch_;
    uint32_t &epoch_, first_epoch_;
    uint32_t number_ = 0; // of the workgroup that runs now
    std::vector<uint32_t> registers_, local_;
    std::vector<uint8_t> is_written_;
    std::vector<Invocation> invocations_;
};

} // namespace lamina::interpreter
