// The global functions.
#include "template/builtins.hpp"
#include "template/objects.hpp"
#include "template/operators.hpp"
#include "template/run.hpp"

#include "base/local_time.hpp"
#include "base/utf8.hpp"

#include <array>
#include <ctime>
#include <optional>

namespace lamina::jinja {
namespace {

constexpr int64_t longest_range = 100'000; // Jinja's

Value function_range(const Passed &passed) {
    Run &run = passed.run;
    const bool one = !passed.has(1);
    const int64_t begin = one ? 0 : passed.integer(0, 0), end = passed.integer(one ? 0 : 1, 0),
                  step = passed.integer(2, 1);
    if (step == 0) run.fail("range: the step is 0");
    // Unsigned, because the distance may overflow a signed integer.
    const uint64_t distance = (step > 0 ? begin < end : end < begin)
                                  ? (step > 0 ? static_cast<uint64_t>(end) - static_cast<uint64_t>(begin)
                                              : static_cast<uint64_t>(begin) - static_cast<uint64_t>(end))
                                  : 0;
    const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    const uint64_t count = distance == 0 ? 0 : (distance - 1) / stride + 1;
    if (count > longest_range)
        run.fail("range: expected at most " + std::to_string(longest_range) + " numbers, found " +
                 std::to_string(count));
    std::vector<Value> out;
    for (uint64_t i = 0; i < count; ++i) out.emplace_back(begin + static_cast<int64_t>(i) * step);
    return run.list(std::move(out), Sequence::Kind::range);
}

// dict(other, name=value)
std::vector<Dict::Member> members_passed(const Passed &passed) {
    std::vector<Dict::Member> out;
    for (const Value &each : passed.arguments.positional) {
        if (each.dict() == nullptr) passed.run.fail("expected a dict, found " + each.description());
        out.insert(out.end(), each.dict()->members.begin(), each.dict()->members.end());
    }
    out.insert(out.end(), passed.arguments.named.begin(), passed.arguments.named.end());
    return out;
}

Value function_namespace(const Passed &passed) {
    auto *out = passed.run.object<Namespace>();
    for (auto &[name, value] : members_passed(passed)) out->set(name, std::move(value));
    return out;
}

Value function_raise_exception(const Passed &passed) {
    passed.run.fail("the template raised an error: " +
                    (passed[0].text() != nullptr ? *passed[0].text() : passed[0].description()));
}

Value function_strftime_now(const Passed &passed) {
    const std::string &format = passed.text(0);
    if (format.size() > 1000) passed.run.fail("strftime_now: expected a format of at most 1000 bytes");
    const std::optional<std::tm> local = local_time(passed.run.now());
    if (!local) passed.run.fail("strftime_now: the clock shows no time");
    std::array<char, 64 * 1024> out{}; // no conversion of two bytes gives more than a hundred
    const size_t length = std::strftime(out.data(), out.size(), format.c_str(), &*local);
    return passed.run.text(std::string(out.data(), length));
}

} // namespace

Builtins functions() {
    static constexpr Builtin table[] = {
        {"namespace", "*", function_namespace},
        {"raise_exception", "message", function_raise_exception},
        {"range", "start stop? step?", function_range},
        {"strftime_now", "format", function_strftime_now},
    };
    return table;
}

} // namespace lamina::jinja
