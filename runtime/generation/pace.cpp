#include "generation/pace.hpp"

#include "generation/average.hpp"

#include <algorithm>
#include <bit>

namespace lamina::generation {
namespace {

constexpr size_t first_part = 32;      // tokens, of which is learned how long they take
constexpr size_t rarely = 24;          // steps of others between two parts that keep them waiting
constexpr double share_of_step = 0.75; // of a step's time, that a part may take with each

} // namespace

size_t Pace::part(bool others_write) {
    if (!others_write) return pause_ = 0, longest;
    if (pause_ > 0) return --pause_, 0;
    if (step_ == 0 || token_ == 0) return first_part;
    const auto tokens = static_cast<size_t>(std::min(step_ / token_, static_cast<double>(longest)) * share_of_step);
    if (tokens >= shortest) return std::bit_floor(tokens);
    const double many = static_cast<double>(rarely) * step_ / token_;
    return std::clamp(std::bit_ceil(static_cast<size_t>(many)), shortest, longest);
}

void Pace::took(double seconds, size_t tokens, bool others_write) {
    if (tokens == 0) return average(step_, seconds);
    const double of_prompt = std::max(seconds - (others_write ? step_ : 0), 0.0);
    average(token_, of_prompt / static_cast<double>(tokens));
    if (others_write) pause_ = step_ == 0 ? 1 : of_prompt > step_ ? rarely : 0;
}

} // namespace lamina::generation
