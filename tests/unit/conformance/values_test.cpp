// The values in conformance cases.
#include "base/random.hpp"
#include "conformance/values.hpp"

#include "catch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

using namespace lamina;
using namespace lamina::conformance;

namespace {

std::vector<float> floats(Values values, Shape shape = {64, 100}, bool weight = false) {
    const Tensor t = make_values({DType::f32, std::move(shape)}, values, weight, {}, 7, "x");
    return {t.f32().begin(), t.f32().end()};
}
std::vector<int32_t> integers(Values values, int64_t low, int64_t high, int64_t cache = 0) {
    const Tensor t = make_values({DType::i32, {1000}}, values, false, {low, high, cache}, 7, "ids");
    return {t.i32().begin(), t.i32().end()};
}
double mean(const std::vector<float> &v) {
    double sum = 0;
    for (const float x : v) sum += x;
    return sum / static_cast<double>(v.size());
}
double deviation(const std::vector<float> &v) {
    const double m = mean(v);
    double sum = 0;
    for (const float x : v) sum += (x - m) * (x - m);
    return std::sqrt(sum / static_cast<double>(v.size()));
}

} // namespace

TEST_CASE("random numbers are those of SplitMix64 on every machine") {
    Random random(1234567);
    CHECK(random.next() == 6457827717110365317u);
    CHECK(random.next() == 3203168211198807973u);
    CHECK(random.next() == 9817491932198370423u);
}

TEST_CASE("a port's values depend on the seed and on its name, and on nothing else") {
    const TensorType type{DType::f32, {50}};
    const auto of = [&](uint64_t seed, const char *port) {
        const Tensor t = make_values(type, Values::normal, false, {}, seed, port);
        return std::vector<float>(t.f32().begin(), t.f32().end());
    };
    CHECK(of(1, "x") == of(1, "x"));
    CHECK_FALSE(of(1, "x") == of(2, "x"));
    CHECK_FALSE(of(1, "x") == of(1, "y"));
}

TEST_CASE("normal values are signed, of mean 0 and deviation 1; weights of deviation 1/sqrt(columns)") {
    CHECK_THAT(mean(floats(Values::normal)), matchers::within_abs(0, 0.05));
    CHECK_THAT(deviation(floats(Values::normal)), matchers::within_abs(1, 0.05));
    CHECK_THAT(deviation(floats(Values::normal, {64, 100}, true)), matchers::within_abs(0.1, 0.005));
    CHECK_THAT(deviation(floats(Values::normal, {6400}, true)), matchers::within_abs(1, 0.05)); // a bias
}

TEST_CASE("each class of values has its documented properties") {
    CHECK_THAT(mean(floats(Values::offset)), matchers::within_abs(1e4, 0.1));
    CHECK_THAT(deviation(floats(Values::offset)), matchers::within_abs(1, 0.05));
    const auto range = [](const std::vector<float> &v) {
        const auto [low, high] = std::minmax_element(v.begin(), v.end());
        return std::pair<double, double>(*low, *high);
    };
    CHECK(range(floats(Values::large)).first < -75);
    CHECK(range(floats(Values::large)).second > 75);
    CHECK(range(floats(Values::huge)).second > 60000);
    CHECK(range(floats(Values::huge)).second <= 65504);
    CHECK(range(floats(Values::tiny)).second < 1e-11);
    CHECK(range(floats(Values::tiny)).second > 0);
    CHECK(range(floats(Values::zeros)) == std::pair(0.0, 0.0));
    const std::vector<float> one_hot = floats(Values::one_hot, {5, 9});
    CHECK(std::count(one_hot.begin(), one_hot.end(), 1.0F) == 5);
    CHECK(std::count(one_hot.begin(), one_hot.end(), 0.0F) == 40);
    for (size_t row = 0; row < 5; ++row)
        CHECK(std::count(one_hot.begin() + static_cast<std::ptrdiff_t>(row * 9),
                         one_hot.begin() + static_cast<std::ptrdiff_t>(row * 9 + 9), 1.0F) == 1);
}

TEST_CASE("spread values have all magnitudes from 2^-30 to 1, and either sign") {
    std::map<int, size_t> exponents;
    size_t negative = 0;
    for (const float v : floats(Values::spread)) ++exponents[std::ilogb(v)], negative += v < 0 ? 1U : 0U;
    CHECK(exponents.size() == 30);
    CHECK(exponents.begin()->first == -30);
    CHECK(exponents.rbegin()->first == -1);
    for (const auto &[exponent, count] : exponents) CHECK(count > 100); // of 6400
    CHECK(negative > 3000);
    CHECK(negative < 3400);
}

TEST_CASE("of infinite values, some rows are all -infinity, some have one +infinity, and others a few -infinity") {
    const std::vector<float> v = floats(Values::infinite, {6, 100});
    for (size_t row = 0; row < 6; ++row) {
        const auto begin = v.begin() + static_cast<std::ptrdiff_t>(row * 100), end = begin + 100;
        const auto below = std::count(begin, end, -std::numeric_limits<float>::infinity());
        const auto above = std::count(begin, end, std::numeric_limits<float>::infinity());
        CHECK((row % 3 == 1 ? below == 100 : below > 5 && below < 50));
        CHECK(above == (row % 3 == 2 ? 1 : 0));
    }
}

TEST_CASE("integers stay in the contract's range, and reach both ends") {
    const std::vector<int32_t> v = integers(Values::uniform, -3, 5);
    CHECK(*std::min_element(v.begin(), v.end()) == -3);
    CHECK(*std::max_element(v.begin(), v.end()) == 4);
    const auto all = [](const std::vector<int32_t> &values, int32_t expected) {
        return std::all_of(values.begin(), values.end(), [=](int32_t x) { return x == expected; });
    };
    CHECK(all(integers(Values::zeros, 2, 9), 2));
    CHECK(all(integers(Values::one, 0, 9), 1));
    CHECK(all(integers(Values::one, 0, 1), 0)); // the only value in the range
    CHECK(all(integers(Values::max, 0, 9), 8));
    CHECK_THROWS_AS(integers(Values::uniform, 4, 4), Error);
}

TEST_CASE("in a wide range, values within a cache are likely") {
    const std::vector<int32_t> v = integers(Values::uniform, 0, int64_t{1} << 31);
    const auto small = std::count_if(v.begin(), v.end(), [](int32_t x) { return x < 8; });
    const auto large = std::count_if(v.begin(), v.end(), [](int32_t x) { return x > 1 << 20; });
    const auto middle = std::count_if(v.begin(), v.end(), [](int32_t x) { return x >= 64 && x < 256; });
    CHECK(small > 200);
    CHECK(middle > 120);
    CHECK(large > 150);

    const std::vector<int32_t> positions = integers(Values::uniform, 0, int64_t{1} << 31, 2000);
    CHECK(std::count_if(positions.begin(), positions.end(), [](int32_t x) { return x >= 256 && x < 2000; }) > 350);
    CHECK(std::count_if(positions.begin(), positions.end(), [](int32_t x) { return x >= 2000; }) > 150);
}

TEST_CASE("values of large tensors repeat, but not a power of two of rows apart") {
    const Tensor t = make_values({DType::f32, {40'000, 100}}, Values::normal, true, {}, 7, "w");
    const auto row = [&](size_t r) { return t.f32().subspan(r * 100, 100); };
    CHECK(std::ranges::equal(row(0), row(10'477)));
    for (size_t apart = 1; apart < 40'000; apart *= 2) CHECK_FALSE(std::ranges::equal(row(0), row(apart)));
    const Tensor blocks = make_values({DType::q8_0, {40'000, 64}}, Values::normal, true, {}, 7, "w");
    CHECK(std::ranges::equal(blocks.bytes().first(68), blocks.bytes().subspan(size_t{16'381} * 68, 68)));
}
