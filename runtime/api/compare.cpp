// lamina::compare() of proof.hpp: creates the two sessions to compare.
#include <lamina/proof.hpp>
#include <lamina/texts.hpp>

#include "api/access.hpp"
#include "comparison/comparison.hpp"
#include "comparison/record_comparison.hpp"

namespace lamina {

Comparison compare(const Runtime &runtime, const Model &model, const Device &device, const CompareOptions &options) {
    if (device.id == options.against)
        throw Error(ErrorCode::usage,
                    "there is nothing to compare: the device and the reference are both '" + device.id + "'");
    SessionOptions session_options;
    session_options.cache = options.cache;
    SessionOptions exact = session_options;
    session_options.precision = options.precision;
    session_options.fusion = options.fusion;
    session_options.split = options.split;
    session_options.max_memory = options.max_memory;
    Session on_device = runtime.session(model, device, session_options);
    Session truth = runtime.session(model, runtime.device("cpu"), exact); // references run there, too
    return comparison::compare(detail::Access::state(truth), detail::Access::state(on_device), options);
}

RecordComparison compare_with_record(const Runtime &runtime, const Model &model, const Device &device,
                                     const std::filesystem::path &record) {
    const auto content = comparison::Record::read(record);
    const TextIds tokens = content.texts.empty() ? TextIds() : tokenize(model, content.texts);
    SessionOptions options;
    options.keep_all = true;
    Session session = runtime.session(model, device, options);
    return comparison::compare(detail::Access::state(session), content, tokens.ids);
}

} // namespace lamina
