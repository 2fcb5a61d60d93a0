#include "base/palette.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>

namespace lamina {
namespace {

struct Rgb {
    double r, g, b;
};

constexpr Rgb rgb(uint32_t hex) {
    return {static_cast<double>(hex >> 16), static_cast<double>(hex >> 8 & 255), static_cast<double>(hex & 255)};
}

constexpr std::array hues{rgb(0x0072b2), rgb(0xd55e00), rgb(0x009e73), rgb(0xcc79a7), rgb(0xe69f00),
                          rgb(0x56b4e9), rgb(0x444444), rgb(0x332288), rgb(0x999933), rgb(0x882255),
                          rgb(0x117733), rgb(0xcc6677), rgb(0xaa4499), rgb(0xddcc77), rgb(0x44aa99)};
constexpr std::array dashes{"", " stroke-dasharray=\"8 4\"", " stroke-dasharray=\"2 4\"",
                            " stroke-dasharray=\"8 4 2 4\""};
constexpr std::array rd_bu{rgb(0x053061), rgb(0x2166ac), rgb(0x4393c3), rgb(0x92c5de), rgb(0xd1e5f0), rgb(0xf7f7f7),
                           rgb(0xfddbc7), rgb(0xf4a582), rgb(0xd6604d), rgb(0xb2182b), rgb(0x67001f)};

std::string hex(const Rgb &c) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "#%02x%02x%02x", static_cast<unsigned>(std::lround(c.r)) & 255u,
                  static_cast<unsigned>(std::lround(c.g)) & 255u, static_cast<unsigned>(std::lround(c.b)) & 255u);
    return text.data();
}

// The colour at `unit` (0 to 1) on a scale of evenly spaced stops.
Rgb along(std::span<const Rgb> stops, double unit) {
    const double place = std::clamp(unit, 0.0, 1.0) * static_cast<double>(stops.size() - 1);
    const size_t below = std::min(static_cast<size_t>(place), stops.size() - 2);
    const Rgb &a = stops[below], &b = stops[below + 1];
    const double t = place - static_cast<double>(below);
    return {std::lerp(a.r, b.r, t), std::lerp(a.g, b.g, t), std::lerp(a.b, b.b, t)};
}

} // namespace

std::string line_style(size_t i) {
    return "stroke=\"" + hex(hues[i % hues.size()]) + "\"" + dashes[i / hues.size() % dashes.size()];
}

std::string diverging_colour(double unit) { return hex(along(rd_bu, unit)); }

} // namespace lamina
