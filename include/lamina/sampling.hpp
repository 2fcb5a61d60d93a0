// The numbers of GenerateOptions that say how tokens are chosen, in one list: what model files, requests, Python and,
// with "--" and hyphens, the command call them, and what they may be.
#pragma once

#include <lamina/lamina.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace lamina {

struct SamplingOption {
    using Member =
        std::variant<double GenerateOptions::*, size_t GenerateOptions::*, std::optional<double> GenerateOptions::*>;

    std::string_view name;
    Member member;
    double least = 0, most = 0; // what it may be, both included
    bool above = false;         // it must be greater than `least`
    bool samples = true;        // it has no effect where nothing is sampled
    std::string_view meaning;
    bool ends_only = false; // it is one of the two bounds, and nothing between

    [[nodiscard]] bool is_whole() const { return std::holds_alternative<size_t GenerateOptions::*>(member); }
    [[nodiscard]] bool takes(double value) const {
        return value <= most && (above ? value > least : value >= least) &&
               (!is_whole() || value == static_cast<double>(static_cast<int64_t>(value))) &&
               (!ends_only || value == least || value == most);
    }
    [[nodiscard]] std::string expected() const;                                   // "above 0, at most 1"
    [[nodiscard]] std::optional<double> of(const GenerateOptions &options) const; // nothing: left open
    void set(GenerateOptions &options, double value) const;
};

inline constexpr std::array sampling_options{
    SamplingOption{"temperature", &GenerateOptions::temperature, 0, 1e6, false, false,
                   "above 0: sample instead of searching"},
    // ---- What is left out, in this order ----
    SamplingOption{"top_h", &GenerateOptions::top_h, 0, 1, false, true,
                   "sample among the likeliest tokens that have this fraction of the entropy; 0: all"},
    SamplingOption{"top_n_sigma", &GenerateOptions::top_n_sigma, 0, 1e6, false, true,
                   "sample among tokens whose scores are within N standard deviations of the best; 0: all"},
    SamplingOption{"top_k", &GenerateOptions::top_k, 0, 1 << 30, false, true,
                   "sample among the N most likely tokens; 0: all"},
    SamplingOption{"top_p", &GenerateOptions::top_p, 0, 1, true, true,
                   "sample among the fewest tokens that together have this probability"},
    SamplingOption{"min_p", &GenerateOptions::min_p, 0, 1, false, true,
                   "sample among tokens at least N times as likely as the likeliest"},
    SamplingOption{"typical_p", &GenerateOptions::typical_p, 0, 1, true, true,
                   "sample among the tokens of typical likelihood that together have this probability"},
    SamplingOption{"epsilon_cutoff", &GenerateOptions::epsilon_cutoff, 0, 1, false, true,
                   "sample among tokens with at least this probability"},
    SamplingOption{"eta_cutoff", &GenerateOptions::eta_cutoff, 0, 1, false, true,
                   "the same, but with a lower limit where the entropy is high"},
    SamplingOption{"xtc_probability", &GenerateOptions::xtc_probability, 0, 1, false, true,
                   "how often the likeliest tokens are left out, so that a less likely one is drawn"},
    SamplingOption{"xtc_threshold", &GenerateOptions::xtc_threshold, 0, 1, false, true,
                   "XTC: of the tokens with at least this probability, all but the least likely are left out"},
    SamplingOption{"mirostat", &GenerateOptions::mirostat, 0, 2, false, true,
                   "2: keep the surprise of each token near mirostat_tau; 0: do not", true},
    SamplingOption{"mirostat_tau", &GenerateOptions::mirostat_tau, 0, 100, false, true,
                   "mirostat: by how many bits a token surprises on average"},
    SamplingOption{"mirostat_eta", &GenerateOptions::mirostat_eta, 0, 10, false, true,
                   "mirostat: how much each token corrects what the next may surprise by"},
    // ---- What makes tokens less likely ----
    SamplingOption{"repetition_penalty", &GenerateOptions::repetition_penalty, 0.01, 100, false, false,
                   "above 1: make tokens that occurred before less likely"},
    SamplingOption{"frequency_penalty", &GenerateOptions::frequency_penalty, -2, 2, false, false,
                   "subtract this from a token's score as often as it occurs in the answer"},
    SamplingOption{"presence_penalty", &GenerateOptions::presence_penalty, -2, 2, false, false,
                   "subtract this from the score of each token that occurs in the answer"},
    SamplingOption{"dry_multiplier", &GenerateOptions::dry_multiplier, 0, 100, false, false,
                   "above 0: make tokens less likely that would repeat a longer sequence"},
    SamplingOption{"dry_base", &GenerateOptions::dry_base, 1, 100, false, false,
                   "how much less likely each further token of the sequence makes them"},
    SamplingOption{"dry_allowed_length", &GenerateOptions::dry_allowed_length, 1, 1 << 20, false, false,
                   "how many tokens of a sequence may be repeated freely"}};

inline std::string SamplingOption::expected() const {
    const auto text = [](double n) {
        std::string out = std::to_string(n);
        out.erase(std::max(out.find_last_not_of('0') + 1, out.find('.')));
        if (out.ends_with('.')) out.pop_back();
        return out;
    };
    if (ends_only) return text(least) + " or " + text(most);
    const std::string number = is_whole() ? "a whole number " : "a number ";
    return number + (above ? "above " + text(least) + ", at most " : "from " + text(least) + " to ") + text(most);
}

inline std::optional<double> SamplingOption::of(const GenerateOptions &options) const {
    if (const auto *whole = std::get_if<size_t GenerateOptions::*>(&member))
        return static_cast<double>(options.**whole);
    if (const auto *real = std::get_if<double GenerateOptions::*>(&member)) return options.**real;
    return options.*std::get<std::optional<double> GenerateOptions::*>(member);
}

inline void SamplingOption::set(GenerateOptions &options, double value) const {
    std::visit(
        [&](auto each) {
            if constexpr (std::is_same_v<decltype(each), size_t GenerateOptions::*>)
                options.*each = static_cast<size_t>(value);
            else
                options.*each = value;
        },
        member);
}

} // namespace lamina
