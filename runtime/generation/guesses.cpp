#include "generation/guesses.hpp"

#include "generation/average.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace lamina::generation {
namespace {

constexpr size_t a_while = 64; // steps

} // namespace

std::vector<int32_t> RepeatedTokens::guess(std::span<const int32_t> text, size_t most) {
    for (const size_t last : {size_t{3}, size_t{2}}) {
        if (text.size() <= last) continue;
        const auto place = std::ranges::find_end(text.first(text.size() - 1), text.last(last));
        if (place.empty()) continue;
        const auto since = text.subspan(static_cast<size_t>(place.end() - text.begin()));
        std::vector<int32_t> out(most);
        for (size_t i = 0; i < most; ++i) out[i] = since[i % since.size()];
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

size_t Guesses::count(size_t most) const { return std::min(count_, most); }

void Guesses::step(double seconds) { average(step_, seconds); }

void Guesses::check(double seconds, size_t guessed, size_t tokens) {
    constexpr size_t fewest = 1, most = 63;
    if (tokens > guessed)
        count_ = std::min(2 * count_ + 1, most);
    else if (2 * tokens <= guessed)
        count_ = std::max(count_ / 2, fewest);
    const size_t checked = std::bit_ceil(guessed + 1);
    if ((std::exchange(tried_, tried_ | checked) & checked) == 0) return;
    average(check_, seconds);
    average(tokens_, static_cast<double>(tokens));
}

} // namespace lamina::generation
