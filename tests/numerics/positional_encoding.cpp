// The reference of positional_encoding computes in float with the same steps as the kernels, so it is compared with the
// exact values here.
#include "catch.hpp"

#include "abi/call.hpp"
#include "places.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace {
using namespace lamina;

// The angle, position / 10000^(2i/channels), needs an error far below 2e-7 even at 2^31, so that its sine is exact.
static_assert(LDBL_MANT_DIG >= 64);

// The encoding of one position: the reference's output for x = 0.
Tensor encoding(const abi::Layer &layer, int64_t channels, int64_t position, const std::string &layout) {
    const abi::LayerCall call(layer, {{"max_len", 2147483648.0}, {"layout", layout}},
                              {{{"x", {DType::f32, {1, 1, channels}}}, {"offset", {DType::i32, {1}}}}, {}, {}},
                              "positional_encoding");
    Tensor x({DType::f32, {1, 1, channels}}), y = x;
    auto offset = static_cast<int32_t>(position);
    call.reference({{x.bytes().data(), &offset}, {nullptr}, {y.bytes().data()}, {}});
    return y;
}

double worst_error(const Tensor &y, int64_t position, bool halves) {
    const auto channels = static_cast<size_t>(y.size()), pairs = channels / 2;
    double worst = 0;
    for (size_t i = 0; i < pairs; ++i) {
        const long double exponent = static_cast<long double>(2 * i) / static_cast<long double>(channels);
        const long double angle = static_cast<long double>(position) / std::pow(10000.0L, exponent);
        const long double sine = y.f32()[halves ? i : 2 * i], cosine = y.f32()[halves ? pairs + i : 2 * i + 1];
        const long double error = std::max(std::abs(sine - std::sin(angle)), std::abs(cosine - std::cos(angle)));
        worst = std::max(worst, static_cast<double>(error));
    }
    return worst;
}

} // namespace

TEST_CASE("positional_encoding: sines and cosines are right to 2e-7 at every position below 2^31") {
    const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    const abi::Layer &layer = plugins->layer("positional_encoding");
    for (const int64_t channels : {2, 4, 20, 160, 512, 2048}) {
        for (const int64_t position : {0, 1, 2, 4999, 1000000, 16777217, 1234567890, 2147483647}) {
            INFO("channels " << channels << ", position " << position);
            CHECK(worst_error(encoding(layer, channels, position, "interleaved"), position, false) <= 2e-7);
            CHECK(worst_error(encoding(layer, channels, position, "halves"), position, true) <= 2e-7);
        }
    }
}

TEST_CASE("positional_encoding: position 0 is exactly 0 and 1") {
    const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    const Tensor y = encoding(plugins->layer("positional_encoding"), 6, 0, "interleaved");
    CHECK(std::vector<float>(y.f32().begin(), y.f32().end()) == std::vector<float>{0, 1, 0, 1, 0, 1});
}

TEST_CASE("positional_encoding: invalid inputs are refused by name") {
    const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    const abi::Layer &layer = plugins->layer("positional_encoding");
    const auto refusal = [&](Shape shape, double max_len) {
        return message_of([&] {
            const abi::LayerCall call(layer, {{"max_len", max_len}}, {{{"x", {DType::f32, shape}}}, {}, {}}, "pe");
        });
    };
    CHECK_THAT(refusal({1, 3, 5}, 10), matchers::contains("5 channels"));
    CHECK_THAT(refusal({1, 11, 6}, 10), matchers::contains("max_len = 10"));
    CHECK(refusal({1, 10, 6}, 10).empty());
}
