#include "base/process.hpp"

#include <lamina/error.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lamina {
namespace {

[[noreturn]] void fail(const char *what) {
    throw Error(ErrorCode::failure,
                std::string("no process for a part of the work: ") + what + ": " + std::strerror(errno));
}

struct Pipe {
    std::array<int, 2> ends{-1, -1};
    Pipe() {
        if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
    }
    Pipe(const Pipe &) = delete;
    Pipe &operator=(const Pipe &) = delete;
    ~Pipe() { close_end(0), close_end(1); }
    void close_end(size_t which) {
        if (ends[which] >= 0) close(ends[which]);
        ends[which] = -1;
    }
};

// Appends what can be read now. Returns false at the end.
bool read_some(int file, std::string &text) {
    std::array<char, 4096> buffer{};
    const ssize_t n = read(file, buffer.data(), buffer.size());
    if (n > 0) text.append(buffer.data(), static_cast<size_t>(n));
    return n > 0 || (n < 0 && errno == EINTR);
}

// Ends a process that is still running, also if an exception leaves it behind.
class Child {
  public:
    explicit Child(pid_t id) : id_(id) {}
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;
    ~Child() {
        if (id_ > 0) kill(id_, SIGKILL), wait();
    }
    void end() { kill(id_, SIGKILL); }
    void wait() {
        while (waitpid(id_, &status_, 0) < 0 && errno == EINTR) {
        }
        id_ = -1;
    }
    [[nodiscard]] int status() const { return status_; } // as waitpid() has it

  private:
    pid_t id_;
    int status_ = 0;
};

} // namespace

Ended run_process(const std::vector<std::string> &arguments, int seconds, const std::function<void()> &working) {
    std::string name = "lamina";
    std::vector<std::string> copies = arguments;
    std::vector<char *> words{name.data()};
    for (std::string &each : copies) words.push_back(each.data());
    words.push_back(nullptr);

    Pipe out, err;
    const pid_t id = fork();
    if (id < 0) fail("fork");
    if (id == 0) {
        dup2(out.ends[1], STDOUT_FILENO);
        dup2(err.ends[1], STDERR_FILENO);
        execv("/proc/self/exe", words.data());
        _exit(127);
    }
    Child child(id);
    out.close_end(1), err.close_end(1);

    Ended ended;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (out.ends[0] >= 0 || err.ends[0] >= 0) {
        std::array<pollfd, 2> files{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}}; // -1 is left out
        poll(files.data(), files.size(), 100);
        if (files[0].revents != 0 && !read_some(out.ends[0], ended.out)) out.close_end(0);
        if (files[1].revents != 0 && !read_some(err.ends[0], ended.err)) err.close_end(0);
        working();
        if (std::chrono::steady_clock::now() > end) {
            child.end();
            ended.fault = "did not end within " + std::to_string(seconds) + " seconds";
            break;
        }
    }
    child.wait();
    const int status = child.status();
    if (WIFSIGNALED(status) && ended.fault.empty())
        ended.fault = "was ended by signal " + std::to_string(WTERMSIG(status));
    ended.status = WEXITSTATUS(status);
    return ended;
}

} // namespace lamina
