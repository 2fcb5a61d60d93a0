#include "plan/program.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

namespace lamina::plan {

using Kind = PlannedTensor::Kind;

void Backend::add(const model::Weights &) {
    throw Error(ErrorCode::usage, "models that share their weights run on one GPU, or on the CPU");
}

void Backend::remove(const std::string &) {} // nothing was added

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

void Program::run(std::span<const int32_t> rows) {
    for (const auto &[name, index] : plan_.inputs)
        if (!written_[static_cast<size_t>(index)])
            throw Error(ErrorCode::input, "input '" + name + "' of graph '" + plan_.graph + "' has not been given");
    find_moves(rows);
    move(moves_);
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
    expect_size(index, bytes.size());
    expect_readable(index);
    if (!bytes.empty()) get(index, 0, bytes);
}

void Program::read_entry(int32_t tensor_index, int64_t index, std::span<std::byte> bytes) {
    const PlannedTensor &t = tensor(tensor_index);
    const int64_t entries = t.type.shape.front();
    const uint64_t size = t.type.bytes() / static_cast<uint64_t>(std::max<int64_t>(entries, 1));
    if (index < 0 || index >= entries || bytes.size() != size)
        throw Error(ErrorCode::input, "tensor '" + t.name + "' of graph '" + plan_.graph + "' has " +
                                          std::to_string(entries) + " entries of " + std::to_string(size) +
                                          " bytes; found " + std::to_string(bytes.size()) + " for entry " +
                                          std::to_string(index));
    expect_readable(tensor_index);
    if (!bytes.empty()) get(tensor_index, static_cast<uint64_t>(index) * size, bytes);
}

void Program::expect_readable(int32_t index) const {
    const PlannedTensor &t = tensor(index);
    const auto refuse = [&](const char *why) {
        throw Error(ErrorCode::input, "tensor '" + t.name + "' of graph '" + plan_.graph + "' " + why);
    };
    if (t.kind == Kind::weight) refuse("is a weight: read it from the model's file");
    if (!has_run_ && t.kind != Kind::state) refuse("has no value before the first run");
    if (t.kind == Kind::activation && !t.output && !keep_all_)
        refuse("is not an output, and its memory is reused: compile with keep_all to read it");
}

namespace {

// The bytes that the two states have in common in one sequence of each.
StateCopy copy_of(const TensorType &from, const TensorType &to, const SequenceCopy &sequence) {
    const size_t rank = from.shape.size();
    size_t axis = 1;
    while (axis < rank && from.shape[axis] == to.shape[axis]) ++axis;
    uint64_t blocks = 1;
    for (size_t i = 1; i < axis && axis < rank; ++i) blocks *= static_cast<uint64_t>(from.shape[i]);
    const auto side = [&](const TensorType &type, int32_t row) {
        const uint64_t bytes = type.bytes() / static_cast<uint64_t>(type.shape.front());
        return StateCopy::Side{plan::none, static_cast<uint64_t>(row) * bytes, bytes / blocks};
    };
    StateCopy out{side(from, sequence.from), side(to, sequence.to), blocks, 0};
    out.bytes = std::min(out.from.stride, out.to.stride);
    return out;
}

// Whether the shapes differ at most in the number of sequences and along one more axis.
bool are_alike(const TensorType &a, const TensorType &b) {
    if (a.dtype != b.dtype || a.shape.size() != b.shape.size() || a.shape.empty()) return false;
    size_t differing = 0;
    for (size_t i = 1; i < a.shape.size(); ++i) differing += a.shape[i] == b.shape[i] ? 0 : 1;
    return differing <= 1;
}

} // namespace

void Program::find_moves(std::span<const int32_t> rows) {
    moves_.clear();
    moves_.reserve(rows.size());
    for (int32_t b = 0; b < static_cast<int32_t>(rows.size()); ++b)
        if (const int32_t from = rows[static_cast<size_t>(b)]; from != b) moves_.push_back({from, b});
    const auto all = static_cast<int64_t>(rows.size());
    for (const PlannedTensor &t : plan_.tensors) {
        if (t.kind != Kind::state) continue;
        const int64_t sequences = std::max(t.type.shape.front(), plan_.sequences);
        const auto refused = [&](const SequenceCopy &move) {
            return move.from < 0 || move.from >= sequences ||
                   (move.from < all && rows[static_cast<size_t>(move.from)] != move.from);
        };
        if (all > sequences || std::ranges::any_of(moves_, refused))
            throw Error(ErrorCode::input, "state '" + t.name + "': expected at most " + std::to_string(sequences) +
                                              " rows, each a sequence that stays itself; found " + std::to_string(all) +
                                              ", or another sequence");
    }
}

void Program::move(std::span<const SequenceCopy> moves) {
    for (const SequenceCopy &each : moves) copy_states(*this, copies_of(each));
}

std::span<const StateCopy> Program::copies_of(const SequenceCopy &move) {
    copies_.clear();
    copies_.reserve(plan_.tensors.size());
    for (size_t t = 0; t < plan_.tensors.size(); ++t) {
        const TensorType &type = plan_.tensors[t].type;
        if (plan_.tensors[t].kind != Kind::state || type.bytes() == 0) continue;
        copies_.push_back(copy_of(type, type, move));
        copies_.back().from.tensor = copies_.back().to.tensor = static_cast<int32_t>(t);
    }
    return copies_;
}

void Program::take_states(Program &from, std::span<const SequenceCopy> sequences) {
    std::vector<StateCopy> copies;
    for (size_t t = 0; t < plan_.tensors.size(); ++t) {
        if (plan_.tensors[t].kind != Kind::state) continue;
        const int32_t other = from.plan_.tensor(plan_.tensors[t].name);
        const TensorType theirs = from.plan_.whole(from.tensor(other)), mine = plan_.whole(plan_.tensors[t]);
        const auto missing = [&](const SequenceCopy &s) {
            return s.from < 0 || s.from >= theirs.shape.front() || s.to < 0 || s.to >= mine.shape.front();
        };
        if (!are_alike(theirs, mine) || std::ranges::any_of(sequences, missing))
            throw Error(ErrorCode::input, "state '" + plan_.tensors[t].name + "': expected sequences of one like " +
                                              to_string(mine.shape) + ", another length of one axis at most; found " +
                                              to_string(theirs.shape));
        if (theirs.shape == mine.shape || theirs.bytes() == 0 || mine.bytes() == 0) continue;
        for (const SequenceCopy &sequence : sequences) {
            copies.push_back(copy_of(theirs, mine, sequence));
            copies.back().from.tensor = other;
            copies.back().to.tensor = static_cast<int32_t>(t);
        }
    }
    if (!copies.empty()) copy_states(from, copies);
}

void Program::copy_sequence(const SequenceCopy &sequence) {
    for (const PlannedTensor &t : plan_.tensors) {
        if (t.kind != Kind::state) continue;
        const int64_t sequences = plan_.whole(t).shape.front();
        if (std::min(sequence.from, sequence.to) < 0 || std::max(sequence.from, sequence.to) >= sequences)
            throw Error(ErrorCode::input, "state '" + t.name + "': expected two of " + std::to_string(sequences) +
                                              " sequences, found " + std::to_string(sequence.from) + " and " +
                                              std::to_string(sequence.to));
    }
    if (sequence.from != sequence.to) copy_states(*this, copies_of(sequence));
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
            const auto range = step.call.values(abi::PortList::in, port);
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
