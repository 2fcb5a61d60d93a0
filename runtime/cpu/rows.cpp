#include "cpu/rows.hpp"

#include "base/parallel.hpp"
#include "cpu/memory.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

namespace lamina::cpu {
namespace {

constexpr double worth_a_thread = 0x1p18;  // values that the rows read
constexpr double most_of_a_piece = 0x1p27; // values: a fraction of a second
constexpr size_t pieces_of_a_thread = 4;   // at least: some rows take longer than others

// The outputs of one thread: a reference may write rows that it was not asked for.
class Outputs {
  public:
    Outputs(const abi::LayerCall &call, const abi::LayerCall::Data &shared) : call_(call), data_(shared) {
        const auto &types = call.types(abi::PortList::out);
        for (size_t i = 0; i < types.size(); ++i)
            if (shared.out[i] != nullptr) data_.out[i] = own_.emplace_back(types[i].bytes()).data();
    }

    void compute(const abi::LayerCall::Data &shared, std::span<const int64_t> rows) {
        copy(shared.out, data_.out, rows); // what was in them shows rows that the reference leaves out
        call_.reference(data_, rows);
        copy(data_.out, shared.out, rows);
    }

  private:
    void copy(const std::vector<void *> &from, const std::vector<void *> &to, std::span<const int64_t> rows) const {
        const auto &types = call_.types(abi::PortList::out);
        for (size_t i = 0; i < types.size(); ++i) {
            if (from[i] == nullptr || types[i].bytes() == 0) continue;
            const int64_t count = abi::rows_of(types[i].shape);
            const size_t bytes = types[i].bytes() / static_cast<size_t>(count);
            for (const int64_t row : rows) {
                if (row >= count) break; // of a longer output
                const size_t at = static_cast<size_t>(row) * bytes;
                std::memcpy(static_cast<std::byte *>(to[i]) + at, static_cast<const std::byte *>(from[i]) + at, bytes);
            }
        }
    }

    const abi::LayerCall &call_;
    std::vector<Memory> own_;
    abi::LayerCall::Data data_;
};

bool has_states(const abi::LayerCall &call) {
    return std::ranges::any_of(call.types(abi::PortList::state), [](const TensorType &t) { return !t.shape.empty(); });
}

// A rough measure of the work of one row.
double values_of_row(const abi::LayerCall &call) {
    double out = 0;
    for (const auto list : {abi::PortList::in, abi::PortList::weight})
        for (const TensorType &t : call.types(list))
            if (!t.shape.empty()) out += static_cast<double>(element_count(t.shape));
    return out;
}

} // namespace

void reference_on_threads(const abi::LayerCall &call, const abi::LayerCall::Data &data, std::span<const int64_t> rows,
                          size_t threads, const std::function<void()> &working) {
    if (!call.by_rows() || has_states(call)) return call.reference(data, rows);
    std::vector<int64_t> all;
    if (rows.empty()) {
        all.resize(static_cast<size_t>(call.rows()));
        std::iota(all.begin(), all.end(), int64_t{0});
        rows = all;
    }
    const double values = values_of_row(call) * static_cast<double>(rows.size());
    const auto wanted =
        std::max(threads < 2 ? 1 : threads * pieces_of_a_thread, static_cast<size_t>(values / most_of_a_piece));
    const size_t pieces = std::min(rows.size(), wanted);
    if (pieces < 2 || values < worth_a_thread) return call.reference(data, rows);
    std::vector<std::optional<Outputs>> outputs(threads);
    in_parallel(pieces, threads, [&](size_t piece, size_t thread) {
        if (thread == 0 && working) working();
        const size_t first = rows.size() * piece / pieces, end = rows.size() * (piece + 1) / pieces;
        if (!outputs[thread]) outputs[thread].emplace(call, data);
        outputs[thread]->compute(data, rows.subspan(first, end - first));
    });
}

} // namespace lamina::cpu
