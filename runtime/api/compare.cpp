// lamina::compare() of proof.hpp: creates the two sessions to compare.
#include <lamina/proof.hpp>

#include "api/access.hpp"
#include "comparison/comparison.hpp"

namespace lamina {

Comparison compare(const Runtime &runtime, const Model &model, const Device &device, const CompareOptions &options) {
    SessionOptions session_options;
    session_options.cache = options.cache;
    Session on_device = runtime.session(model, device, session_options);
    Session truth = runtime.session(model, runtime.device(options.against), session_options);
    return comparison::compare(detail::Access::state(truth), detail::Access::state(on_device), options);
}

} // namespace lamina
