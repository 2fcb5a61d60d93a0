#include "process.hpp"

#include "places.hpp"
#include "temporary_folder.hpp"

#include <array>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace {

constexpr unsigned limit_s = 60;

// The environment of the test without LAMINA_... and without colours, plus `more`.
std::vector<std::string> environment(const std::map<std::string, std::string> &more) {
    std::vector<std::string> out;
    for (char **entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        if (!text.starts_with("LAMINA_") && !more.contains(std::string(text.substr(0, text.find('=')))))
            out.emplace_back(text);
    }
    for (const auto &[name, value] : more) out.push_back(name + "=" + value);
    return out;
}

std::vector<char *> pointers(std::vector<std::string> &strings) {
    std::vector<char *> out;
    for (std::string &text : strings) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

// Runs the command in a child process; in, out and err become its stdin, stdout and stderr (-1: inherited).
pid_t start(const std::vector<std::string> &arguments, const Surroundings &surroundings, std::array<int, 3> files) {
    std::vector<std::string> words{LAMINA_COMMAND}, variables = environment(surroundings.environment);
    words.insert(words.end(), arguments.begin(), arguments.end());
    const std::vector<char *> argv = pointers(words), envp = pointers(variables);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    if (child != 0) return child;
    for (int i = 0; i < 3; ++i)
        if (files[static_cast<size_t>(i)] >= 0) dup2(files[static_cast<size_t>(i)], i);
    for (const int stream : surroundings.closed) close(stream);
    for (const auto &[resource, most] : surroundings.limits) {
        const rlimit limit{most, most};
        if (setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) _exit(127);
    }
    if (!surroundings.folder.empty() && chdir(surroundings.folder.c_str()) != 0) _exit(127);
    std::signal(SIGPIPE, SIG_DFL);
    alarm(limit_s);
    execve(LAMINA_COMMAND, argv.data(), envp.data());
    _exit(127);
}

int status_of(pid_t child, int64_t *most_kib = nullptr) {
    int status = 0;
    rusage used{};
    while (wait4(child, &status, 0, &used) < 0)
        if (errno != EINTR) throw std::runtime_error(std::string("wait4: ") + std::strerror(errno));
    if (most_kib != nullptr) *most_kib = used.ru_maxrss;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int opened(const std::filesystem::path &file, int flags) {
    const int descriptor = open(file.c_str(), flags | O_CLOEXEC, 0600);
    if (descriptor < 0) throw std::runtime_error("cannot open " + file.string());
    return descriptor;
}

} // namespace

Finished run_lamina(const std::vector<std::string> &arguments, const Surroundings &surroundings) {
    const TemporaryFolder folder;
    const int in = opened(folder.write("in", surroundings.input), O_RDONLY);
    const std::string out_file = surroundings.out.empty() ? (folder.path() / "out").string() : surroundings.out;
    const std::string err_file = surroundings.err.empty() ? (folder.path() / "err").string() : surroundings.err;
    const int out = opened(out_file, O_WRONLY | O_CREAT), err = opened(err_file, O_WRONLY | O_CREAT | O_NOCTTY);
    Finished finished;
    finished.status = status_of(start(arguments, surroundings, {in, out, err}), &finished.most_kib);
    for (const int file : {in, out, err}) close(file);
    if (surroundings.out.empty()) finished.out = folder.read("out");
    if (surroundings.err.empty()) finished.err = folder.read("err");
    return finished;
}

Running::Running(const std::vector<std::string> &arguments, const Surroundings &surroundings) {
    std::array<int, 2> in{}, out{};
    if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    process_ = start(arguments, surroundings, {in[0], out[1], -1});
    close(in[0]);
    close(out[1]);
    to_ = in[1], from_ = out[0];
}

Running::~Running() {
    if (process_ > 0) kill(process_, SIGKILL), finish();
}

void Running::write(std::string_view text) {
    if (::write(to_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        throw std::runtime_error("short write");
}

std::string Running::line() {
    std::string out;
    for (char c = 0; ::read(from_, &c, 1) == 1 && c != '\n';) out += c;
    return out;
}

void Running::leave() {
    if (from_ >= 0) close(from_);
    from_ = -1;
}

void Running::send(int signal) { kill(process_, signal); }

int Running::finish(int signal) {
    if (signal != 0)
        send(signal); // its stdin stays open, so that the signal ends it and not the end of its input
    else
        close(std::exchange(to_, -1));
    const int status = status_of(process_);
    if (to_ >= 0) close(to_);
    leave();
    process_ = -1;
    return status;
}

std::string g2p() { return LAMINA_SOURCE_DIR "/models/g2p"; }

std::vector<std::string> lines_of(const std::string &text) {
    std::vector<std::string> out;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) out.push_back(line);
    return out;
}
