#include "admission/timing.hpp"

#include "conformance/values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <utility>

namespace lamina::admission {
namespace {

using Clock = std::chrono::steady_clock;

// A kernel runs at least so many times after a first run that does not count, and while it is short, so many more.
constexpr int least_runs = 3, most_runs = 30;
constexpr std::chrono::milliseconds short_time{2};

// Values that give a kernel its full work: every key counts, every id is in range. Of several, as of experts, all are
// chosen in turn.
Tensor busy_values(const plan::GraphPlan &plan, int32_t input) {
    Tensor t(plan.tensors[static_cast<size_t>(input)].type);
    if (t.dtype() != DType::i32) {
        for (size_t i = 0; i < t.f32().size(); ++i) t.f32()[i] = static_cast<float>(i % 7) * 0.25f - 0.75f;
        return t;
    }
    int64_t high = INT32_MAX;
    for (const plan::Step &step : plan.steps)
        for (uint32_t port = 0; port < step.in.size(); ++port)
            if (step.in[port] == input)
                high = std::min(high, step.call.values(abi::PortList::in, port).value_or(std::pair(0, 1)).second - 1);
    const bool several = high > 1 && high <= conformance::wide_range; // a mask has 0 and 1
    for (size_t i = 0; i < t.i32().size(); ++i)
        t.i32()[i] = static_cast<int32_t>(several ? high - static_cast<int64_t>(i) % (high + 1) : high);
    return t;
}

} // namespace

std::string shapes_of(const plan::Step &step) {
    std::string key;
    for (const auto list : {abi::PortList::in, abi::PortList::weight, abi::PortList::state}) {
        for (const TensorType &type : step.call.types(list)) key += name_of(type.dtype) + lamina::to_string(type.shape);
        key += ";";
    }
    for (const double p : step.call.params()) {
        std::array<char, 32> text{};
        const auto end = std::to_chars(text.data(), text.data() + text.size(), p).ptr; // all digits
        key += " " + std::string(text.data(), end);
    }
    return key;
}

double seconds_of(plan::GraphPlan plan, plan::Backend &backend, std::vector<std::string> variants) {
    double seconds = 0; // of the last run, by the device's clock: submitting and waiting take longer than most steps
    plan::ProgramOptions options;
    options.variants = std::move(variants);
    options.timed = [&](const plan::Program &, const plan::RunTimes &times) { seconds = times.of_dispatches(); };
    const auto program = backend.compile(std::move(plan), options);
    for (const auto &[name, input] : program->plan().inputs)
        program->write(input, busy_values(program->plan(), input).bytes());
    program->run(); // the first run is slower than the others
    double least = std::numeric_limits<double>::infinity();
    const auto began = Clock::now();
    for (int i = 0; i < least_runs || (i < most_runs && Clock::now() - began < short_time); ++i) {
        program->run();
        least = std::min(least, seconds);
    }
    return least;
}

std::string measure_fastest(const plan::GraphPlan &plan, size_t step, plan::Backend &backend,
                            const std::vector<std::string> &variants) {
    std::string best;
    double best_seconds = std::numeric_limits<double>::infinity();
    for (const std::string &variant : variants) {
        const double seconds = seconds_of(plan::isolate(plan, step), backend, {variant});
        if (seconds < best_seconds) best_seconds = seconds, best = variant;
    }
    return best;
}

} // namespace lamina::admission
