// Which invocations have accessed a word of memory, so that a missing barrier shows whatever order they run in.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace lamina::interpreter {

// Who accesses memory, and when. Epochs count the barriers of workgroups over all dispatches; steps those of one
// subgroup.
struct Access {
    static constexpr uint32_t nobody = ~0u;
    static constexpr uint32_t any = ~0u; // as the invocation: the device chooses one of the subgroup
    uint32_t workgroup = nobody, invocation = 0, subgroup = 0;
    uint32_t epoch = 0, step = 0;

    // Whether this access happens before a later one of the interpreter on every device: it is by the same invocation,
    // or a barrier of both lies in between. `dispatch`: the first epoch of the dispatch.
    [[nodiscard]] bool is_before(const Access &now, uint32_t dispatch) const {
        if (workgroup == nobody || epoch < dispatch) return true;
        if (workgroup != now.workgroup) return false;
        if ((invocation == now.invocation && invocation != any) || epoch < now.epoch) return true;
        return subgroup == now.subgroup && step < now.step;
    }
};

// The latest accesses to one word. Two readers, of two subgroups if there are any, are enough: whoever writes races
// with one of them, or with nobody.
class Shadow {
  public:
    // Notes an access and returns an earlier one with which it races, or null.
    const Access *read(const Access &now, uint32_t dispatch) {
        if (!write_.is_before(now, dispatch)) return &write_;
        if (read_.is_before(now, dispatch))
            read_ = now;
        else if (other_read_.is_before(now, dispatch) || other_read_.subgroup == read_.subgroup)
            other_read_ = now;
        return nullptr;
    }
    const Access *write(const Access &now, uint32_t dispatch) {
        for (const Access *earlier : {&write_, &read_, &other_read_})
            if (!earlier->is_before(now, dispatch)) return earlier;
        write_ = now;
        return nullptr;
    }
    [[nodiscard]] bool is_written() const { return write_.workgroup != Access::nobody; }
    [[nodiscard]] bool wrote(const Access &access) const { return &access == &write_; }

  private:
    Access write_, read_, other_read_;
};

} // namespace lamina::interpreter
