#include "catch.hpp"

#include "generation/pace.hpp"

#include <algorithm>
#include <vector>

using lamina::generation::Pace;

namespace {

// A device on which a step takes `step` seconds, and reading n tokens of prompts beside it `start` + n * `token`.
struct Simulated {
    double step, start, token;
};

struct Course {
    std::vector<double> gaps; // seconds between tokens of the texts that are written
    double in_all = 0;
    [[nodiscard]] double percentile(double p) const {
        std::vector<double> sorted = gaps;
        std::ranges::sort(sorted);
        return sorted[static_cast<size_t>(p * static_cast<double>(sorted.size() - 1))];
    }
};

// Of reading so long a prompt, after some steps without any.
Course read(const Simulated &device, size_t prompt, Pace &pace) {
    for (int i = 0; i < 10; ++i) pace.took(device.step, 0, true);
    Course out;
    while (prompt > 0) {
        const size_t tokens = std::min(pace.part(true), prompt);
        const double seconds =
            device.step + (tokens == 0 ? 0 : device.start + static_cast<double>(tokens) * device.token);
        pace.took(seconds, tokens, true);
        prompt -= tokens;
        out.gaps.push_back(seconds);
        out.in_all += seconds;
    }
    return out;
}

} // namespace

TEST_CASE("pace: texts are written while a long prompt is read, and neither waits for the other") {
    // A GPU that reads many tokens in the time of a step; processors, with one text and with eight; slow devices.
    for (const Simulated &device : {Simulated{0.01, 0.002, 0.00005},
                                    {0.005, 0.003, 0.0012},
                                    {0.025, 0.003, 0.0012},
                                    {0.2, 0.1, 0.02},
                                    {0.001, 0, 0.1}}) {
        INFO(device.step << " s a step, " << device.token << " s a token of a prompt");
        Pace pace;
        const Course course = read(device, 20000, pace);
        CHECK(course.percentile(0.95) <= 2 * device.step);
        const double alone = 20000 * device.token + 20000 / 256.0 * device.start;
        CHECK(course.in_all < 4.5 * alone); // half of the time, and blocks that are shorter
        CHECK(course.percentile(1) <= 45 * device.step + device.start + 32 * device.token); // the first part is a try
    }
}

TEST_CASE("pace: a part is as long as it can be where nobody waits for it") {
    Pace pace;
    CHECK(pace.part(false) == Pace::longest);
    pace.took(0.5, 256, false);
    CHECK(pace.part(false) == Pace::longest);
    CHECK(pace.part(true) < Pace::longest); // how long a step takes is not known yet
}

TEST_CASE("pace: follows how long steps take, and does not believe one that is far off") {
    const Simulated fast{0.01, 0, 0.00005}, slow{0.01, 0, 0.001};
    Pace pace;
    (void)read(fast, 2000, pace);
    CHECK(pace.part(true) >= 64);
    (void)read(slow, 4000, pace);
    size_t usual = 0; // after a pause
    while (usual == 0) usual = pace.part(true);
    CHECK(usual >= Pace::shortest);
    CHECK(usual <= Pace::longest);
    pace.took(100, 0, true);
    CHECK(pace.part(true) <= 2 * usual);
}
