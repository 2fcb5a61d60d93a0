// Catch2: version 3 if the system has it, else 2.13. Tests use only what both have.
#pragma once

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/catch_tostring.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
namespace matchers {
inline auto contains(const std::string &text) { return Catch::Matchers::ContainsSubstring(text); }
inline auto within_abs(double target, double margin) { return Catch::Matchers::WithinAbs(target, margin); }
} // namespace matchers
#else
#include <catch2/catch.hpp>
namespace matchers {
inline auto contains(const std::string &text) { return Catch::Matchers::Contains(text); }
inline auto within_abs(double target, double margin) { return Catch::Matchers::WithinAbs(target, margin); }
} // namespace matchers
#endif

#include <lamina/error.hpp>

#include <functional>
#include <string>

// The message of the error that an action throws; "" if it throws none, so that a test that expects one fails.
inline std::string message_of(const std::function<void()> &action) {
    try {
        action();
    } catch (const lamina::Error &e) {
        return e.what();
    }
    return {};
}
