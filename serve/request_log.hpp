// A line of JSON at the end of a file for each request that was answered: what was asked of whom, what came of it and
// how long it took. Never a text.
#pragma once

#include "usage.hpp"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace lamina::serve {

struct LoggedRequest {
    std::chrono::system_clock::time_point time; // of its end
    std::string client, method;                 // "": unknown, of what never became a request
    std::string path;                           // of the route, such as /v1/models/{model}
    std::string model{};                        // "": none
    int status = 0;
    std::chrono::duration<double> seconds{};                    // that it took
    std::optional<std::chrono::duration<double>> first_token{}; // likewise, until then
    Usage tokens{};
};

class RequestLog {
  public:
    // Throws Error(failure) if the file cannot be written. Later failures are told to `complain`, once.
    RequestLog(std::filesystem::path file, std::function<void(const std::string &)> complain);
    ~RequestLog(); // when all lines are written
    RequestLog(const RequestLog &) = delete;
    RequestLog &operator=(const RequestLog &) = delete;

    // Does not wait for the file: a thread of its own writes. Lines that come much faster than they can be written are
    // lost.
    void add(const LoggedRequest &request);

  private:
    void run();
    [[nodiscard]] bool write(const std::string &lines) const;

    const std::filesystem::path file_;
    const std::function<void(const std::string &)> complain_;
    std::mutex mutex_; // guards all below
    std::condition_variable changed_;
    std::string lines_;
    bool ending_ = false, complained_ = false;
    std::thread thread_; // last, so that it sees all of the above
};

} // namespace lamina::serve
