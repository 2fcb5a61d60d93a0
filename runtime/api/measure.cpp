// measure_layer(), measure_limits() and measure_perplexity() of measure.hpp.
#include "api/access.hpp"

#include "generation/perplexity.hpp"
#include "measure/layer.hpp"
#include "measure/limits.hpp"

namespace lamina {

namespace {

// Returns work(state). A device that is lost meanwhile is opened again by whoever uses it next.
template <class Work> auto on_device(const Runtime &runtime, const Device &device, const Work &work) {
    detail::RuntimeState &state = *detail::Access::state(runtime);
    const auto opened = state.open(device);
    try {
        return work(state);
    } catch (const Error &e) {
        if (e.code() == ErrorCode::device_lost) state.forget(device, opened);
        throw;
    }
}

} // namespace

Limits measure_limits(const Runtime &runtime, const Device &device) {
    return on_device(runtime, device, [&](auto &state) { return measure::limits(state, device); });
}

std::vector<LayerMeasurement> measure_layer(const Runtime &runtime, const Device &device, const std::string &layer,
                                            const std::string &case_text, const MeasureOptions &options) {
    return on_device(runtime, device,
                     [&](auto &state) { return measure::measure_layer(state, device, layer, case_text, options); });
}

Perplexity measure_perplexity(Session &session, const std::string &text, const PerplexityOptions &options) {
    detail::SessionState &state = detail::Access::state(session);
    const std::scoped_lock turn(state.turn);
    return generation::perplexity(state, text, options);
}

} // namespace lamina
