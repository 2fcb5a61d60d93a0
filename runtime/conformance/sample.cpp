#include "conformance/sample.hpp"

#include "base/random.hpp"
#include "conformance/case.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace lamina::conformance {
namespace {

constexpr int64_t few_entries = 16; // of an axis: a row of each is compared
constexpr int64_t least_rows = 8, most_rows = 256;
constexpr size_t least_runs = 4;

using abi::rows_of;

// The last row of every entry of the short axes. Whichever axis holds the batch, all its entries are among them.
void add_entries(const Shape &shape, const std::function<void(int64_t)> &add) {
    int64_t stride = rows_of(shape);
    for (size_t axis = 0; axis + 1 < shape.size(); ++axis) {
        const int64_t block = stride;
        stride /= shape[axis];
        if (shape[axis] > few_entries) continue;
        for (int64_t i = 1; i <= shape[axis]; ++i) add(rows_of(shape) - block + i * stride - 1);
    }
}

std::set<int64_t> sample_of(const Shape &shape, size_t count, Random &random) {
    const int64_t rows = rows_of(shape);
    std::set<int64_t> out;
    if (rows <= static_cast<int64_t>(count)) {
        for (int64_t r = 0; r < rows; ++r) out.insert(r);
        return out;
    }
    const auto add = [&](int64_t row) {
        if (out.size() < count) out.insert(row);
    };
    add(rows - 1), add(0);
    add_entries(shape, add);
    for (int64_t power = int64_t{1} << 40; power > 1; power /= 2)
        if (power < rows) add(power), add(power - 1);
    while (out.size() < count) add(static_cast<int64_t>(random.below(static_cast<uint64_t>(rows))));
    return out;
}

// What the reference reads for one row: all weights, and one sequence of inputs and states.
double work_of_row(const abi::LayerCall &call) {
    double work = 1;
    for (const TensorType &t : call.types(abi::PortList::weight))
        if (!t.shape.empty()) work += static_cast<double>(element_count(t.shape));
    for (const auto list : {abi::PortList::in, abi::PortList::state})
        for (const TensorType &t : call.types(list)) {
            if (t.shape.empty()) continue;
            const int64_t sequences = t.shape.size() < 3 ? t.shape[0] : std::min(t.shape[0], t.shape[1]);
            work += static_cast<double>(element_count(t.shape)) / static_cast<double>(std::max<int64_t>(1, sequences));
        }
    return work;
}

} // namespace

std::vector<int64_t> sample_of(const abi::LayerCall &call, size_t count) {
    Random random(1, call.layer().id());
    std::set<int64_t> rows;
    for (const TensorType &t : call.types(abi::PortList::out)) rows.merge(sample_of(t.shape, count, random));
    return {rows.begin(), rows.end()};
}

std::vector<std::vector<int64_t>> sample_of_runs(const abi::LayerCall &call, size_t runs, size_t count) {
    Random random(1, call.layer().id());
    // Few runs and many of their rows, because each run has a cost of its own.
    const size_t rows = static_cast<size_t>(std::max<int64_t>(1, call.rows()));
    const size_t some = std::min(runs, std::max(least_runs, count / rows));
    std::vector<std::vector<int64_t>> out(runs);
    for (const int64_t run : sample_of({static_cast<int64_t>(runs), 1}, some, random))
        out[static_cast<size_t>(run)] = sample_of(call, (count + some - 1) / some);
    return out;
}

int64_t affordable_rows(const abi::LayerCall &call, double most_work) {
    return std::clamp(static_cast<int64_t>(most_work / work_of_row(call)), least_rows, most_rows);
}

Tensor pick_rows(const Tensor &all, std::span<const int64_t> rows) {
    const int64_t count = rows_of(all.shape());
    const auto inside = std::ranges::lower_bound(rows, count) - rows.begin();
    Tensor out(TensorType{all.dtype(), {inside, all.shape().back()}});
    const size_t bytes = all.bytes().size() / static_cast<size_t>(count);
    for (size_t i = 0; i < static_cast<size_t>(inside); ++i)
        std::ranges::copy(all.bytes().subspan(static_cast<size_t>(rows[i]) * bytes, bytes),
                          out.bytes().subspan(i * bytes).begin());
    return out;
}

void put_rows(const Tensor &from, std::span<const int64_t> rows, Tensor &to) {
    const int64_t count = rows_of(from.shape());
    const size_t bytes = from.bytes().size() / static_cast<size_t>(std::max<int64_t>(1, count));
    for (const int64_t row : rows)
        if (row < count)
            std::ranges::copy(from.bytes().subspan(static_cast<size_t>(row) * bytes, bytes),
                              to.bytes().subspan(static_cast<size_t>(row) * bytes).begin());
}

} // namespace lamina::conformance
