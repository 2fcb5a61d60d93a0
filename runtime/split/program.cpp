#include "split/program.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace lamina::split {
namespace {

using Kind = plan::PlannedTensor::Kind;

// Programs are timed here, as a whole.
plan::ProgramOptions untimed(plan::ProgramOptions options) {
    options.timed = {};
    return options;
}

} // namespace

SplitProgram::SplitProgram(plan::GraphPlan plan, std::vector<SplitBackend::Part> parts,
                           const plan::ProgramOptions &options, std::shared_ptr<Flow> flow,
                           std::shared_ptr<std::optional<size_t>> lost, const Make &make)
    : Program(std::move(plan), untimed(options)), flow_(std::move(flow)), lost_(std::move(lost)), timed_(options.timed),
      parts_(parts.size()), homes_(plan_.tensors.size(), {0, plan::none}), inputs_(plan_.tensors.size()) {
    for (size_t p = 0; p < parts.size(); ++p) {
        const auto &[device, first, last, section] = parts[p];
        Part &part = parts_[p];
        part.device = device, part.first_step = first;
        for (size_t t = 0; t < section.tensors.size(); ++t) {
            const Port port{static_cast<size_t>(section.tensors[t]), static_cast<int32_t>(t)};
            const plan::PlannedTensor &here = section.plan.tensors[t], &whole = plan_.tensors[port.whole];
            if (here.kind == Kind::input) (whole.kind == Kind::input ? part.inputs : part.crossing).push_back(port);
            if (here.kind == Kind::activation || here.kind == Kind::state) homes_[port.whole] = {p, port.here};
        }
        for (const Port &port : part.crossing) {
            const auto [from, there] = homes_[port.whole];
            std::vector<Port> &given = parts_[from].given;
            if (std::ranges::find(given, port.whole, &Port::whole) == given.end()) given.push_back({port.whole, there});
        }
        part.written.resize(part.inputs.size());
        plan::ProgramOptions how = untimed(options);
        how.variants.clear();
        for (size_t s = first; s < last && s < options.variants.size(); ++s)
            how.variants.push_back(options.variants[s]);
        if (timed_) how.timed = [&part](const plan::Program &, const plan::RunTimes &times) { part.times = times; };
        part.program = make(device, section.plan, how);
        for (const Port &port : part.inputs) // set() is not called for these
            if (section.plan.tensors[static_cast<size_t>(port.here)].type.bytes() == 0)
                part.program->write(port.here, {});
    }
}

SplitProgram::~SplitProgram() { flow_->settle(); }

void SplitProgram::set(int32_t index, std::span<const std::byte> bytes) {
    if (tensor(index).kind == Kind::input) { // runs on their way have the old one
        inputs_[static_cast<size_t>(index)] = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
        return;
    }
    flow_->wait();
    const auto [part, here] = home(index);
    part->program->write(here, bytes);
}

// As SequenceCopy, so that each part moves its own states in the way of its device.
void SplitProgram::move(std::span<const plan::SequenceCopy> moves) {
    rows_.clear();
    int32_t end = 0;
    for (const plan::SequenceCopy &each : moves) end = std::max({end, each.from + 1, each.to + 1});
    rows_.resize(static_cast<size_t>(end));
    std::iota(rows_.begin(), rows_.end(), 0);
    for (const plan::SequenceCopy &each : moves) rows_[static_cast<size_t>(each.to)] = each.from;
}

std::unique_ptr<SplitProgram::Run> SplitProgram::begin_run() {
    auto run = spare_ ? std::move(spare_) : std::make_unique<Run>();
    run->inputs = inputs_;
    run->crossing.resize(plan_.tensors.size());
    run->rows = rows_;
    run->times.reset();
    return run;
}

void SplitProgram::run_part(Part &part, Run &run) try {
    for (size_t i = 0; i < part.inputs.size(); ++i) {
        const Shared &value = run.inputs[part.inputs[i].whole];
        if (value == part.written[i]) continue;
        part.program->write(part.inputs[i].here, *value);
        part.written[i] = value;
    }
    for (const Port &port : part.crossing) part.program->write(port.here, run.crossing[port.whole]);
    part.program->run(run.rows);
    for (const Port &port : part.given) {
        Bytes &value = run.crossing[port.whole];
        value.resize(plan_.tensors[port.whole].type.bytes());
        part.program->read(port.here, value);
    }
    if (!timed_) return;
    if (!run.times) run.times = plan::RunTimes{.began = part.times.began, .device_clock = true, .dispatches = {}};
    plan::RunTimes &all = *run.times;
    const double offset = std::chrono::duration<double>(part.times.began - all.began).count();
    all.device_clock = all.device_clock && part.times.device_clock;
    all.seconds = offset + part.times.seconds;
    for (const plan::RunTimes::Dispatch &d : part.times.dispatches)
        all.dispatches.push_back({d.step + part.first_step, d.kernel, d.begin + offset, d.seconds});
} catch (const Error &e) {
    if (e.code() == ErrorCode::device_lost) *lost_ = part.device;
    throw;
}

void SplitProgram::execute() {
    if (!plan_.outputs.empty() || parts_.size() < 2) {
        flow_->wait();
        std::unique_ptr<Run> run = begin_run();
        for (Part &part : parts_) run_part(part, *run);
        if (timed_) timed_(*this, *run->times);
        spare_ = std::move(run);
        return;
    }
    const std::shared_ptr<Run> run = begin_run();
    flow_->begin(
        parts_.front().device, [this, run] { go_on(run, 0); }, parts_.size() + 1);
}

// A run on its way does its part, and goes on to the next.
void SplitProgram::go_on(const std::shared_ptr<Run> &run, size_t part) {
    run_part(parts_[part], *run);
    if (part + 1 < parts_.size())
        flow_->go_on(parts_[part + 1].device, [this, run, part] { go_on(run, part + 1); });
    else
        flow_->end(timed_ ? [this, run] { timed_(*this, *run->times); } : Flow::Work());
}

void SplitProgram::execute_timed(plan::RunTimes &) { execute(); } // never called: see untimed()

std::pair<SplitProgram::Part *, int32_t> SplitProgram::home(int32_t tensor) {
    const auto [part, here] = homes_[static_cast<size_t>(tensor)];
    return {&parts_[part], here};
}

void SplitProgram::get(int32_t index, uint64_t offset, std::span<std::byte> bytes) {
    if (tensor(index).kind == Kind::input) {
        const Bytes &value = *inputs_[static_cast<size_t>(index)];
        std::copy_n(value.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
        return;
    }
    flow_->wait();
    const auto [part, here] = home(index);
    get_from(*part->program, here, offset, bytes);
}

void SplitProgram::copy_states(plan::Program &from, std::span<const plan::StateCopy> copies) {
    flow_->wait();
    auto &other = dynamic_cast<SplitProgram &>(from);
    // A state is on the same device in all programs, though their parts may differ.
    std::map<std::pair<plan::Program *, plan::Program *>, std::vector<plan::StateCopy>> between;
    for (plan::StateCopy copy : copies) {
        const auto [theirs, there] = other.home(copy.from.tensor);
        const auto [mine, here] = home(copy.to.tensor);
        copy.from.tensor = there, copy.to.tensor = here;
        between[{theirs->program.get(), mine->program.get()}].push_back(copy);
    }
    for (const auto &[programs, some] : between) copy_between(*programs.first, *programs.second, some);
}

std::string SplitProgram::overrun() {
    flow_->wait();
    for (Part &part : parts_)
        if (std::string found = part.program->overrun(); !found.empty()) return found;
    return {};
}

std::string SplitProgram::variant(size_t step) const {
    const auto part =
        std::ranges::find_if(parts_.rbegin(), parts_.rend(), [&](const Part &each) { return each.first_step <= step; });
    return part->program->variant(step - part->first_step);
}

} // namespace lamina::split
