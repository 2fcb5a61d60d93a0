#include "admission/timing.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace lamina::admission {
namespace {

using Clock = std::chrono::steady_clock;

// A kernel runs at least so many times after a first run that does not count, and while it is short, so many more.
constexpr int least_runs = 3, most_runs = 30;
constexpr std::chrono::milliseconds short_time{2};

// Values that give a kernel its full work: every key counts, every id is in range.
Tensor busy_values(const plan::Step &step, size_t port) {
    Tensor t(step.call.types(abi::PortList::in)[port]);
    if (t.dtype() == DType::i32) {
        const auto range = step.call.values(abi::PortList::in, static_cast<uint32_t>(port));
        const int64_t high = range ? std::min<int64_t>(range->second - 1, INT32_MAX) : 0;
        std::fill(t.i32().begin(), t.i32().end(), static_cast<int32_t>(high));
    } else {
        for (size_t i = 0; i < t.f32().size(); ++i) t.f32()[i] = static_cast<float>(i % 7) * 0.25f - 0.75f;
    }
    return t;
}

} // namespace

std::string shapes_of(const plan::Step &step) {
    std::string key;
    for (const auto list : {abi::PortList::in, abi::PortList::weight, abi::PortList::state}) {
        for (const TensorType &type : step.call.types(list)) key += name_of(type.dtype) + lamina::to_string(type.shape);
        key += ";";
    }
    for (const double p : step.call.params()) key += " " + std::to_string(p);
    return key;
}

std::string measure_fastest(const plan::GraphPlan &plan, size_t step, plan::Backend &backend,
                            const std::vector<std::string> &variants) {
    std::string best;
    double best_seconds = std::numeric_limits<double>::infinity();
    for (const std::string &variant : variants) {
        double seconds =
            0; // of the last run, by the device's clock: submitting and waiting take longer than most steps
        plan::ProgramOptions options;
        options.variants = {variant};
        options.timed = [&](const plan::Program &, const plan::RunTimes &times) { seconds = times.of_dispatches(); };
        const auto program = backend.compile(plan::isolate(plan, step), options);
        const plan::Step &alone = program->plan().steps.front();
        for (size_t port = 0; port < alone.in.size(); ++port)
            if (alone.in[port] != plan::none && alone.call.bound(abi::PortList::in)[port] == port)
                program->write(alone.in[port], busy_values(alone, port).bytes());
        program->run(); // the first run is slower than the others
        const auto began = Clock::now();
        for (int i = 0; i < least_runs || (i < most_runs && Clock::now() - began < short_time); ++i) {
            program->run();
            if (seconds < best_seconds) best_seconds = seconds, best = variant;
        }
    }
    return best;
}

} // namespace lamina::admission
