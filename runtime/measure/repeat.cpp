#include "measure/repeat.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace lamina {
namespace {

// The value below which this fraction of the sorted values lies, between two of them if need be.
double quantile(const std::vector<double> &sorted, double fraction) {
    const double at = fraction * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<size_t>(at);
    const size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

} // namespace

Spread spread_of(std::vector<double> values) {
    if (values.empty()) throw Error(ErrorCode::usage, "spread_of(): expected at least one value, found none");
    std::sort(values.begin(), values.end());
    return {values.size(), quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75)};
}

namespace measure {

double seconds_of(const std::function<void()> &work) {
    const auto began = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

Spread repeat(double seconds, const std::function<double()> &run) {
    constexpr size_t most = 10000;
    const double first = seconds_of([&] { (void)run(); });
    if (first <= seconds) (void)run();
    const size_t least = first <= 10 * seconds ? 3 : 1;
    std::vector<double> times;
    double passed = 0;
    while (times.size() < least || (passed < seconds && times.size() < most))
        passed += seconds_of([&] { times.push_back(run()); });
    return spread_of(std::move(times));
}

} // namespace measure
} // namespace lamina
