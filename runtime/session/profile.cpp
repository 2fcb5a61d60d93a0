#include "session/profile.hpp"

#include "plan/cost.hpp"

namespace lamina::detail {

GraphTimes graph_times(const plan::Program &program, const plan::RunTimes &times, const SessionState &session) {
    GraphTimes out{program.plan().graph, times.began, times.seconds, times.device_clock, {}};
    const std::vector<size_t> places = session.places_of(program.plan());
    for (size_t s = 0; s < program.plan().steps.size(); ++s) {
        const plan::Step &step = program.plan().steps[s];
        out.layers.push_back({step.name,
                              std::string(step.call.layer().id()),
                              program.variant(s),
                              session.places[places[s]].device.id,
                              plan::cost_without_states(step.call),
                              {}});
    }
    for (const plan::RunTimes::Dispatch &d : times.dispatches)
        out.layers[d.step].dispatches.push_back({d.kernel, d.begin, d.seconds});
    return out;
}

} // namespace lamina::detail
