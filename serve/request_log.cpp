#include "request_log.hpp"

#include "base/json.hpp"

#include <lamina/error.hpp>

#include <array>
#include <cstdio>
#include <fstream>
#include <utility>

namespace lamina::serve {
namespace {

constexpr size_t most_waiting = size_t{16} << 20; // bytes of lines

// "2026-11-29T03:52:56.123Z", as RFC 3339 has it.
std::string as_text(std::chrono::system_clock::time_point time) {
    using namespace std::chrono;
    const auto day = floor<days>(time);
    const year_month_day date(day);
    const hh_mm_ss clock(floor<milliseconds>(time - day));
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                  static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
    return text.data();
}

double in_milliseconds(std::chrono::duration<double> time) {
    return static_cast<double>(std::chrono::round<std::chrono::milliseconds>(time).count()) / 1000;
}

std::string line_of(const LoggedRequest &request) {
    Json out{{"time", as_text(request.time)}, {"path", request.path}, {"status", request.status}};
    out["seconds"] = in_milliseconds(request.seconds);
    if (!request.client.empty()) out["client"] = request.client;
    if (!request.method.empty()) out["method"] = request.method;
    if (!request.model.empty()) out["model"] = request.model;
    if (request.first_token) out["first_token_seconds"] = in_milliseconds(*request.first_token);
    if (request.tokens.prompt != 0) out["prompt_tokens"] = request.tokens.prompt;
    if (request.tokens.reused != 0) out["cached_tokens"] = request.tokens.reused;
    if (request.tokens.answer != 0) out["completion_tokens"] = request.tokens.answer;
    return out.in_one_line() + "\n";
}

} // namespace

RequestLog::RequestLog(std::filesystem::path file, std::function<void(const std::string &)> complain)
    : file_(std::move(file)), complain_(std::move(complain)) {
    if (!write("")) throw Error(ErrorCode::failure, file_.string() + ": cannot be written, as --request-log asks");
    thread_ = std::thread([this] { run(); });
}

RequestLog::~RequestLog() {
    {
        const std::scoped_lock lock(mutex_);
        ending_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

void RequestLog::add(const LoggedRequest &request) {
    const std::string line = line_of(request);
    const std::scoped_lock lock(mutex_);
    if (lines_.size() + line.size() > most_waiting) return;
    lines_ += line;
    changed_.notify_all();
}

void RequestLog::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return ending_ || !lines_.empty(); });
        if (lines_.empty()) return;
        const std::string lines = std::exchange(lines_, "");
        lock.unlock();
        const bool written = write(lines);
        lock.lock();
        if (!written && !std::exchange(complained_, true))
            complain_(file_.string() + ": cannot be written any more; requests are missing in it");
    }
}

// It is opened anew each time: whoever rotates logs may rename it, and needs to tell nobody.
bool RequestLog::write(const std::string &lines) const {
    std::ofstream out(file_, std::ios::app | std::ios::binary);
    out.write(lines.data(), static_cast<std::streamsize>(lines.size()));
    return out.flush().good();
}

} // namespace lamina::serve
