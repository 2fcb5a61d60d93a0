#include "interpreter/workgroup.hpp"

#include "interpreter/device.hpp"

#include <spirv_cross/spirv.h>

#include <algorithm>

namespace lamina::interpreter {
namespace {

using State = Invocation::State;

// More than a kernel runs for any tensor of a test.
constexpr uint64_t most_instructions = uint64_t{1} << 26u;

std::array<uint32_t, 3> position(uint32_t number, const std::array<uint32_t, 3> &sizes) {
    return {number % sizes[0], number / sizes[0] % sizes[1], number / sizes[0] / sizes[1]};
}

std::string shown(const std::array<uint32_t, 3> &v) {
    return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) + ")";
}

} // namespace

Workgroup::Workgroup(const Dispatch &dispatch, uint32_t &epoch)
    : dispatch_(dispatch), epoch_(epoch), first_epoch_(++epoch) {
    const Module &m = dispatch.module;
    const uint32_t n = m.size[0] * m.size[1] * m.size[2];
    registers_.resize(n * m.registers.size());
    local_.resize(n * m.local.size());
    is_written_.resize(n * m.is_written.size());
    invocations_.resize(n);
    shared.resize(m.shared_words);
    for (const Bound &b : dispatch.bindings)
        if (b.writes) b.memory->shadow.resize(b.memory->words.size());
}

void Workgroup::run_all() {
    const uint32_t n = dispatch_.groups[0] * dispatch_.groups[1] * dispatch_.groups[2];
    for (uint32_t number = 0; number < n; ++number) {
        start(number);
        run_one();
    }
}

void Workgroup::start(uint32_t number) {
    const Module &m = dispatch_.module;
    number_ = number;
    ++epoch_;
    shared_shadow.assign(m.shared_words, {});
    for (uint32_t i = 0; i < invocations_.size(); ++i) {
        Invocation v;
        v.module = &m;
        v.workgroup = this;
        v.number = i;
        v.subgroup = i / dispatch_.subgroup;
        v.lane = i % dispatch_.subgroup;
        v.registers = registers_.data() + i * m.registers.size();
        v.local = local_.data() + i * m.local.size();
        v.is_written = is_written_.data() + i * m.local.size();
        v.next = m.entry;
        v.in_shared = v.in_buffers = {number, i, v.subgroup, epoch_, 0};
        std::ranges::copy(m.registers, v.registers);
        std::ranges::copy(m.local, v.local);
        std::ranges::copy(m.is_written, v.is_written);
        set_builtins(v);
        invocations_[i] = std::move(v);
    }
}

void Workgroup::set_builtins(Invocation &v) {
    const std::array<uint32_t, 3> &size = dispatch_.module.size;
    const std::array<uint32_t, 3> group = position(number_, dispatch_.groups), local = position(v.number, size);
    const auto n = static_cast<uint32_t>(invocations_.size());
    const std::array<std::pair<int64_t, std::array<uint32_t, 3>>, 9> values{{
        {SpvBuiltInNumWorkgroups, dispatch_.groups},
        {SpvBuiltInWorkgroupId, group},
        {SpvBuiltInLocalInvocationId, local},
        {SpvBuiltInGlobalInvocationId,
         {group[0] * size[0] + local[0], group[1] * size[1] + local[1], group[2] * size[2] + local[2]}},
        {SpvBuiltInLocalInvocationIndex, {v.number}},
        {SpvBuiltInSubgroupSize, {dispatch_.subgroup}},
        {SpvBuiltInNumSubgroups, {(n + dispatch_.subgroup - 1) / dispatch_.subgroup}},
        {SpvBuiltInSubgroupId, {v.subgroup}},
        {SpvBuiltInSubgroupLocalInvocationId, {v.lane}},
    }};
    for (const auto &[id, variable] : dispatch_.module.variables) {
        if (variable.storage != SpvStorageClassInput) continue;
        const auto value = std::ranges::find(values, variable.builtin, [](const auto &known) { return known.first; });
        if (value == values.end()) throw Unknown("the built-in variable '" + variable.name + "'");
        std::copy_n(value->second.begin(), variable.words, v.local + variable.place);
    }
}

void Workgroup::run_one() {
    const auto is_finished = [](const Invocation &v) { return v.state == State::finished; };
    while (true) {
        for (Invocation &v : invocations_)
            if (v.state == State::running) run_until_it_waits(v);
        if (std::ranges::all_of(invocations_, is_finished)) return;
        if (!meet_in_subgroups() && !meet_in_workgroup()) report_divergence();
    }
}

void Workgroup::run_until_it_waits(Invocation &v) {
    const std::vector<Instruction> &code = dispatch_.module.code;
    try {
        while (v.state == State::running) {
            const Instruction &i = code[v.next++];
            i.run(v, i);
            if (++v.run > most_instructions) throw Fault("runs without end");
        }
        if (v.state == State::finished) count_rounds(v);
    } catch (const Fault &f) {
        throw Fault(place_of(v) + ": it " + f.what());
    }
}

void Workgroup::count_rounds(const Invocation &v) const {
    if (dispatch_.most_run != nullptr) *dispatch_.most_run = std::max(*dispatch_.most_run, v.rounds);
    if (v.rounds > most_rounds)
        throw Fault("has run " + std::to_string(v.rounds) + " rounds of its loops; lavapipe ends loops after " +
                    std::to_string(most_rounds) + ", without a word");
}

namespace {

// Whether two invocations wait at the same instruction, reached by the same calls.
bool are_together(const Invocation &a, const Invocation &b) {
    return a.next == b.next &&
           std::ranges::equal(a.calls, b.calls, {}, &Invocation::Return::to, &Invocation::Return::to);
}

const Instruction &awaited(const Invocation &v) { return v.module->code[v.next - 1]; }

// Those that have not returned, if they all wait together; else none.
std::vector<Invocation *> gathered(std::span<Invocation> all) {
    std::vector<Invocation *> out;
    for (Invocation &v : all) {
        if (v.state == State::finished) continue;
        if (v.state == State::running || (!out.empty() && !are_together(*out[0], v))) return {};
        out.push_back(&v);
    }
    return out;
}

} // namespace

// Whether any subgroup goes on.
bool Workgroup::meet_in_subgroups() {
    bool any = false;
    for (size_t begin = 0; begin < invocations_.size(); begin += dispatch_.subgroup) {
        const size_t n = std::min<size_t>(dispatch_.subgroup, invocations_.size() - begin);
        const std::vector<Invocation *> waiting = gathered(std::span(invocations_).subspan(begin, n));
        if (waiting.empty()) continue;
        const Instruction &i = awaited(*waiting[0]);
        const Meeting &meeting = dispatch_.module.meetings[i.list];
        if (!meeting.of_subgroup) continue;
        try {
            if (meeting.compute != nullptr)
                meeting.compute(waiting, i);
            else
                pass_barrier(waiting, meeting);
        } catch (const Fault &f) {
            throw Fault(place_of(*waiting[0]) + ": its subgroup " + f.what());
        }
        for (Invocation *v : waiting) v->state = State::running;
        any = true;
    }
    return any;
}

bool Workgroup::meet_in_workgroup() {
    const std::vector<Invocation *> waiting = gathered(invocations_);
    if (waiting.size() != invocations_.size()) return false;
    pass_barrier(waiting, dispatch_.module.meetings[awaited(*waiting[0]).list]);
    for (Invocation *v : waiting) v->state = State::running;
    return true;
}

// A barrier orders accesses to the kinds of memory that it names, or that memory barriers of all invocations named
// before it.
void Workgroup::pass_barrier(std::span<Invocation *const> waiting, const Meeting &meeting) {
    uint32_t semantics = ~0u;
    for (const Invocation *v : waiting) semantics &= v->flushes;
    semantics |= meeting.semantics;
    ++epoch_;
    for (Invocation *v : waiting) {
        v->flushes = 0;
        const auto pass = [&](Access &access) {
            if (meeting.of_subgroup)
                ++access.step;
            else
                access.epoch = epoch_;
        };
        if ((semantics & SpvMemorySemanticsWorkgroupMemoryMask) != 0) pass(v->in_shared);
        if ((semantics & SpvMemorySemanticsUniformMemoryMask) != 0) pass(v->in_buffers);
    }
}

// Nobody can go on.
void Workgroup::report_divergence() const {
    const auto waits = std::ranges::find(invocations_, State::waiting, &Invocation::state);
    const auto elsewhere = std::ranges::find_if(
        invocations_, [&](const Invocation &v) { return v.state == State::finished || !are_together(*waits, v); });
    const std::string what = dispatch_.module.meetings[awaited(*waits).list].compute == nullptr
                                 ? ": it waits at a barrier"
                                 : ": it waits for an operation of its subgroup";
    throw Fault(place_of(*waits) + what + ", but " + who(elsewhere->in_shared) +
                (elsewhere->state == State::finished
                     ? " has returned"
                     : " waits elsewhere, in '" + dispatch_.module.function_at(elsewhere->next - 1) + "'"));
}

std::string Workgroup::who(const Access &access) const {
    const std::string local = access.invocation == Access::any ? "subgroup " + std::to_string(access.subgroup)
                                                               : "invocation " + std::to_string(access.invocation);
    if (access.workgroup == number_) return local;
    return local + " of workgroup " + shown(position(access.workgroup, dispatch_.groups));
}

std::string Workgroup::place_of(const Invocation &v) const {
    return "invocation " + std::to_string(v.number) + " of workgroup " + shown(position(number_, dispatch_.groups)) +
           ", in '" + dispatch_.module.function_at(v.next - 1) + "'";
}

void Workgroup::report_race(const std::string &what, bool writes, const Access &earlier, bool wrote) const {
    throw Fault(std::string(writes ? "writes " : "reads ") + what + ", which " + who(earlier) +
                (wrote ? " writes" : " reads") + (writes && wrote ? ", too" : "") +
                (earlier.workgroup == number_ ? ", with no barrier in between" : ", and nothing orders workgroups"));
}

} // namespace lamina::interpreter
