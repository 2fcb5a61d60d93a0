// Counts what the server does, for Prometheus.
#pragma once

#include "usage.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace lamina::serve {

class Metrics {
  public:
    using Seconds = std::chrono::duration<double>;

    void request(const std::string &path, int status, Seconds time);
    void tokens(const std::string &model, const Usage &usage);
    void first_token(const std::string &model, Seconds time);
    void batch(const std::string &model, size_t size); // requests that a step or a run worked on together

    // In Prometheus's text format; added are `gauges`, name -> what it is, and its value, and states of models.
    using Gauges = std::map<std::string, std::pair<std::string, double>>;
    [[nodiscard]] std::string text(const Gauges &gauges, const std::map<std::string, std::string> &states) const;

  private:
    template <size_t Count> struct Histogram {
        std::array<uint64_t, Count> buckets{}; // of all values up to a bound
        uint64_t count = 0;
        double sum = 0;
    };
    static constexpr std::array times{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0};
    static constexpr std::array sizes{1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0};
    template <size_t Count>
    static void add(Histogram<Count> &to, const std::array<double, Count> &bounds, double value);
    template <size_t Count>
    static std::string text_of(const std::string &name, const std::string &what, const std::string &label,
                               const std::map<std::string, Histogram<Count>> &all,
                               const std::array<double, Count> &bounds);

    mutable std::mutex mutex_;
    std::map<std::pair<std::string, int>, uint64_t> requests_;               // path, status
    std::map<std::string, Histogram<times.size()>> seconds_, first_seconds_; // by path; by model
    std::map<std::string, Histogram<sizes.size()>> batches_;                 // by model
    std::map<std::string, Usage> tokens_;                                    // by model
};

} // namespace lamina::serve
