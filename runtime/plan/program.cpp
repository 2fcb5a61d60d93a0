#include "plan/program.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

namespace lamina::plan {

using Kind = PlannedTensor::Kind;

Program::Program(GraphPlan plan, const ProgramOptions &options)
    : plan_(std::move(plan)), keep_all_(options.keep_all), timed_(options.timed), written_(plan_.tensors.size()) {}

void Program::write(int32_t index, std::span<const std::byte> bytes) {
    const PlannedTensor &t = tensor(index);
    expect_size(index, bytes.size());
    if (t.kind != Kind::input && t.kind != Kind::state)
        throw Error(ErrorCode::input,
                    "tensor '" + t.name + "' is not an input of graph '" + plan_.graph + "', nor a state");
    expect_in_range(index, bytes);
    written_[static_cast<size_t>(index)] = true;
    if (!bytes.empty()) set(index, bytes);
}

void Program::run() {
    for (const auto &[name, index] : plan_.inputs)
        if (!written_[static_cast<size_t>(index)])
            throw Error(ErrorCode::input, "input '" + name + "' of graph '" + plan_.graph + "' has not been given");
    if (timed_) {
        RunTimes times{.began = std::chrono::steady_clock::now(), .dispatches = {}};
        execute_timed(times);
        times.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - times.began).count();
        timed_(*this, times);
    } else {
        execute();
    }
    has_run_ = true;
}

void Program::read(int32_t index, std::span<std::byte> bytes) {
    const PlannedTensor &t = tensor(index);
    expect_size(index, bytes.size());
    const std::string what = "tensor '" + t.name + "' of graph '" + plan_.graph + "' ";
    if (t.kind == Kind::weight) throw Error(ErrorCode::input, what + "is a weight: read it from the model's file");
    if (!has_run_ && t.kind != Kind::state) throw Error(ErrorCode::input, what + "has no value before the first run");
    if (t.kind == Kind::activation && !t.output && !keep_all_)
        throw Error(ErrorCode::input,
                    what + "is not an output, and its memory is reused: compile with keep_all to read it");
    if (!bytes.empty()) get(index, bytes);
}

void Program::reorder_states(std::span<const int32_t> rows) {
    for (const PlannedTensor &t : plan_.tensors) {
        if (t.kind != Kind::state) continue;
        const int64_t batch = t.type.shape.front();
        const auto outside = [&](int32_t r) { return r < 0 || r >= batch; };
        if (static_cast<int64_t>(rows.size()) == batch && std::none_of(rows.begin(), rows.end(), outside)) continue;
        throw Error(ErrorCode::input, "state '" + t.name + "': expected " + std::to_string(batch) +
                                          " rows, each from 0 to " + std::to_string(batch - 1) + ", found " +
                                          std::to_string(rows.size()) + " or one out of range");
    }
    reorder(rows);
}

void Program::take_states(Program &from) {
    std::vector<StateCopy> copies;
    for (size_t t = 0; t < plan_.tensors.size(); ++t) {
        if (plan_.tensors[t].kind != Kind::state) continue;
        const int32_t other = from.plan_.tensor(plan_.tensors[t].name);
        const Shape &shorter = from.tensor(other).type.shape, &longer = plan_.tensors[t].type.shape;
        const auto [differs, there] = std::ranges::mismatch(shorter, longer);
        const auto axis = static_cast<size_t>(differs - shorter.begin());
        if (shorter.size() != longer.size() || from.tensor(other).type.dtype != plan_.tensors[t].type.dtype ||
            (differs != shorter.end() && (*differs > *there || !std::equal(differs + 1, shorter.end(), there + 1))))
            throw Error(ErrorCode::input, "state '" + plan_.tensors[t].name + "': expected " + to_string(longer) +
                                              ", shorter along one axis, found " + to_string(shorter));
        if (shorter == longer) continue; // the same memory, which programs share
        uint64_t blocks = 1;
        for (size_t i = 0; i < std::min(axis, shorter.size()); ++i) blocks *= static_cast<uint64_t>(shorter[i]);
        if (blocks == 0) continue;
        copies.push_back({other, static_cast<int32_t>(t), blocks, from.tensor(other).type.bytes() / blocks,
                          plan_.tensors[t].type.bytes() / blocks});
    }
    copy_states(from, copies);
}

void Program::expect_size(int32_t index, size_t found) const {
    const PlannedTensor &t = tensor(index);
    if (found != t.type.bytes())
        throw Error(ErrorCode::input, "tensor '" + t.name + "' of graph '" + plan_.graph + "' has shape " +
                                          to_string(t.type.shape) + ", " + std::to_string(t.type.bytes()) +
                                          " bytes; found " + std::to_string(found));
}

void Program::expect_in_range(int32_t index, std::span<const std::byte> bytes) const {
    for (const Step &step : plan_.steps) {
        for (uint32_t port = 0; port < step.in.size(); ++port) {
            if (step.in[port] != index) continue;
            const auto range = step.call.values(port);
            if (!range) continue;
            for (size_t i = 0; i * sizeof(int32_t) < bytes.size(); ++i) {
                int32_t value = 0;
                std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
                if (value >= range->first && value < range->second) continue;
                throw Error(ErrorCode::input, "input '" + tensor(index).name + "', element " + std::to_string(i) +
                                                  ": expected a value from " + std::to_string(range->first) + " to " +
                                                  std::to_string(range->second - 1) + " (" +
                                                  step.call.layer().contract->inputs[port].name + " of layer '" +
                                                  step.name + "'), found " + std::to_string(value));
            }
        }
    }
}

std::vector<std::string> variants_by_layer(const GraphPlan &plan,
                                           const std::map<std::string, std::string, std::less<>> &variants) {
    std::vector<std::string> out;
    for (const Step &step : plan.steps) {
        const auto named = variants.find(step.call.layer().id());
        out.push_back(named == variants.end() ? "" : named->second);
    }
    return out;
}

} // namespace lamina::plan
