// Runs graphs. The program for each shape is planned and recorded once.
#include "session/state.hpp"

#include "session/profile.hpp"

#include "base/available_memory.hpp"
#include "base/nearest.hpp"
#include "base/wildcard.hpp"
#include "conformance/case.hpp"

#include <algorithm>
#include <iterator>

namespace lamina::detail {
namespace {

std::string begin_of_key(const std::string &graph, int64_t state_length) {
    return graph + " " + std::to_string(state_length) + " ";
}

std::string key_of(const std::string &graph, const plan::GraphShapes &shapes) {
    std::string key = begin_of_key(graph, shapes.state_length) + std::to_string(shapes.sequences) +
                      (shapes.states_only ? "states" : "");
    if (shapes.candidates)
        key += std::to_string(shapes.candidates->count) +
               (shapes.candidates->with_scores ? " among scores" : " candidates");
    for (const auto &[name, type] : shapes.inputs) key += " " + name + name_of(type.dtype) + to_string(type.shape);
    return key;
}

Tensor read(plan::Program &program, int32_t index) {
    Tensor out(program.plan().tensors[static_cast<size_t>(index)].type);
    program.read(index, out.bytes());
    return out;
}

// The activations that match the patterns ('*', '?' and [] as in a shell). Outputs of the graph also match by their
// names there.
std::map<std::string, int32_t> find_taps(const plan::GraphPlan &plan, const std::vector<std::string> &patterns) {
    std::map<std::string, int32_t> named(plan.outputs.begin(), plan.outputs.end());
    for (size_t i = 0; i < plan.tensors.size(); ++i)
        if (plan.tensors[i].kind == plan::PlannedTensor::Kind::activation)
            named[plan.tensors[i].name] = static_cast<int32_t>(i);
    std::map<std::string, int32_t> out;
    for (const std::string &pattern : patterns) {
        bool found = false;
        for (const auto &[name, tensor] : named)
            if (matches(pattern, name)) out[name] = tensor, found = true;
        if (!found)
            throw Error(ErrorCode::input, "graph '" + plan.graph + "' has no tensor '" + pattern + "'" +
                                              instead_of(pattern, names_of(named)));
    }
    return out;
}

// Returns work(), and marks the place as lost if its device is lost meanwhile.
template <class Work> auto noticing_loss(Place &place, const Work &work) {
    try {
        return work();
    } catch (const Error &e) {
        place.lost = e.code() == ErrorCode::device_lost;
        throw;
    }
}

} // namespace

std::shared_ptr<plan::Program> ProgramCache::get(const std::string &key, const Make &make) {
    for (auto it = programs_.begin(); it != programs_.end(); ++it)
        if (it->first == key) {
            programs_.splice(programs_.begin(), programs_, it);
            return it->second.program;
        }
    Made made{};
    try {
        made = make();
    } catch (const Error &e) {
        if (e.code() != ErrorCode::memory || programs_.empty()) throw;
    }
    if (made.program == nullptr) { // drop programs of other shapes; they can be made again
        programs_.clear();
        made = make();
    }
    programs_.emplace_front(key, std::move(made));
    drop_oldest();
    return programs_.front().second.program;
}

void ProgramCache::drop_oldest() {
    uint64_t bytes = 0;
    size_t count = 1;
    for (auto it = std::next(programs_.begin()); it != programs_.end(); ++it, ++count) {
        bytes += it->second.bytes;
        if (count == most || bytes > most_bytes) {
            programs_.erase(it, programs_.end());
            return;
        }
    }
}

void ProgramCache::drop(std::string_view begin_of_keys) {
    programs_.remove_if([&](const auto &program) { return program.first.starts_with(begin_of_keys); });
}

std::shared_ptr<plan::Program> SessionState::program(const std::string &graph, plan::GraphShapes shapes) {
    shapes.state_dtype = options.cache;
    connect(); // again, if a second loss was thrown since
    return programs.get(key_of(graph, shapes), [&] {
        plan::ProgramOptions program_options;
        program_options.keep_all = options.keep_all;
        if (options.profile)
            program_options.timed = [this, report = options.profile](const plan::Program &program,
                                                                     const plan::RunTimes &times) {
                report(graph_times(program, times, *this));
            };
        if (shapes.state_length == 0 && !split) // there is nothing that a run which stops could leave half-done
            program_options.working = [of = runtime.get()] { of->working(); };
        plan::GraphPlan plan = planned(graph, shapes, options.variants);
        program_options.variants = variants(plan);
        tell_of_references(plan, program_options.variants);
        const uint64_t bytes = plan::total_bytes(plan::need_of(plan, program_options).others);
        ProgramCache::Made out{backend().compile(std::move(plan), program_options), bytes};
        give_back_freed_memory(); // planning makes and frees much that is small
        return out;
    });
}

void SessionState::forget(const std::string &graph, int64_t state_length) {
    programs.drop(begin_of_key(graph, state_length));
}

plan::GraphPlan SessionState::planned(const std::string &graph, const plan::GraphShapes &shapes,
                                      const std::map<std::string, std::string, std::less<>> &requested) {
    plan::GraphPlan plan = plan::plan_graph(*model, model->graphs.at(graph), *runtime->plugins, shapes);
    if (!options.fusion || options.keep_all) return plan;
    std::vector<fusion::Match> matches = fusion::find(plan, *runtime->plugins), chosen;
    if (matches.empty()) return plan;
    const std::vector<size_t> where = places_of(plan);
    for (size_t p = 0; p < places.size(); ++p) {
        if (places[p].admission == nullptr) continue;
        std::vector<fusion::Match> here; // those of which a part is elsewhere are nowhere
        for (const fusion::Match &match : matches)
            if (std::ranges::all_of(match.steps, [&](size_t s) { return where[s] == p; })) here.push_back(match);
        if (split) split->wait();
        noticing_loss(places[p], [&] {
            std::ranges::move(
                places[p].admission->choose_fusions(plan, here, *places[p].backend, {requested, options.precision}),
                std::back_inserter(chosen));
        });
    }
    return chosen.empty() ? plan : fusion::fuse(plan, chosen);
}

std::vector<std::string> SessionState::variants(const plan::GraphPlan &plan, std::set<std::string> *unproven) {
    const auto at = [&](Place &place, const plan::GraphPlan &part) {
        return noticing_loss(place, [&] {
            return place.admission
                       ? place.admission->choose(part, *place.backend, {options.variants, options.precision}, unproven)
                       : plan::variants_by_layer(part, options.variants);
        });
    };
    if (!split) return at(places.front(), plan);
    split->wait();
    std::vector<std::string> out;
    for (const split::SplitBackend::Part &part : split->parts_of(plan))
        std::ranges::move(at(places[part.device], part.section.plan), std::back_inserter(out));
    return out;
}

void SessionState::tell_of_references(const plan::GraphPlan &plan, const std::vector<std::string> &variants) const {
    if (std::ranges::none_of(places, [](const Place &place) { return place.device.id == "cpu"; })) return;
    const std::vector<size_t> where = places_of(plan);
    double all = 0;
    std::map<std::string, double> plain; // by layer
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        const abi::LayerCall &call = plan.steps[s].call;
        const Place &place = places[where[s]];
        const double work = conformance::work_of(call) + conformance::values_of(call);
        all += work;
        if (place.device.id == "cpu" && variants[s] == place.opened->fallback() &&
            place.opened->variants(call.layer()).empty())
            plain[std::string(call.layer().id())] += work;
    }
    for (const auto &[layer, work] : plain)
        if (work >= all / 10)
            runtime->notify_once("layer '" + layer +
                                     "' has no kernel for the CPU, so its reference runs there, which may be slow",
                                 layer);
}

std::vector<size_t> SessionState::places_of(const plan::GraphPlan &plan) const {
    return split ? split->devices_of(plan) : std::vector<size_t>(plan.steps.size());
}

TensorMap SessionState::run(const std::string &graph, const TensorMap &inputs, const std::vector<std::string> &taps,
                            int64_t state_length) {
    runtime->working();
    if (state_length != 0) { // this graph writes to the caches
        cached = {};
        decoding = nullptr;
    }
    plan::GraphShapes shapes;
    for (const auto &[name, tensor] : inputs) shapes.inputs[name] = tensor.type();
    shapes.state_length = state_length;
    const auto held = this->program(graph, shapes);
    plan::Program &program = *held;
    for (const auto &[name, tensor] : inputs) program.write(program.plan().inputs.at(name), tensor.bytes());
    const std::map<std::string, int32_t> tapped = find_taps(program.plan(), taps);
    program.run();
    TensorMap out;
    for (const auto &[name, index] : program.plan().outputs) out[name] = read(program, index);
    for (const auto &[name, index] : tapped) out[name] = read(program, index);
    return out;
}

} // namespace lamina::detail
