#include "generation/guesses.hpp"

#include "generation/average.hpp"

#include <algorithm>
#include <utility>

namespace lamina::generation {
namespace {

constexpr size_t a_while = 64; // steps

} // namespace

std::vector<int32_t> guessed(std::span<const int32_t> text, size_t count) {
    for (const size_t last : {size_t{3}, size_t{2}}) {
        if (text.size() <= last) continue;
        const auto place = std::ranges::find_end(text.first(text.size() - 1), text.last(last));
        if (place.empty()) continue;
        const auto since = text.subspan(static_cast<size_t>(place.end() - text.begin()));
        std::vector<int32_t> out(count);
        for (size_t i = 0; i < count; ++i) out[i] = since[i % since.size()];
        out.erase(std::ranges::find_if(out, [](int32_t token) { return token < 0; }), out.end()); // of an image
        return out;
    }
    return {};
}

bool Guesses::pay() {
    if (pause_ > 0) return --pause_, false;
    if (step_ == 0) return false;
    if (check_ == 0 || tokens_ * step_ > check_) return true;
    tokens_ = check_ = 0; // to be seen anew
    pause_ = a_while;
    return false;
}

void Guesses::step(double seconds) { average(step_, seconds); }

void Guesses::check(double seconds, size_t tokens) {
    if (!std::exchange(tried_, true)) return;
    average(check_, seconds);
    average(tokens_, static_cast<double>(tokens));
}

} // namespace lamina::generation
