// What is shown on a terminal while something is being done.
#include "catch.hpp"
#include "process.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

namespace {

// A terminal of this width, with everything that is written to it.
class Terminal {
  public:
    explicit Terminal(uint16_t columns) : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
        const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
        if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0 || ioctl(master_, TIOCSWINSZ, &size) != 0)
            throw std::runtime_error("no terminal");
        name_ = ptsname(master_);
        held_ = open(name_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC); // until close_and_read()
        reader_ = std::thread([this] {
            std::array<char, 4096> block{};
            for (ssize_t n = 0; (n = read(master_, block.data(), block.size())) > 0;)
                written_.append(block.data(), static_cast<size_t>(n));
        });
    }
    Terminal(const Terminal &) = delete;
    Terminal &operator=(const Terminal &) = delete;
    ~Terminal() {
        (void)close_and_read();
        close(master_);
    }

    [[nodiscard]] const std::string &name() const { return name_; }
    const std::string &close_and_read() {
        if (held_ >= 0) close(held_), held_ = -1, reader_.join();
        return written_;
    }

  private:
    int master_, held_ = -1;
    std::string name_, written_;
    std::thread reader_;
};

size_t characters(const std::string &text) {
    size_t n = 0;
    for (const char c : text) n += (c & 0xC0) != 0x80 ? 1 : 0;
    return n;
}

// The lines that replaced each other, without the sequence that clears one.
std::vector<std::string> shown(const std::string &written) {
    const std::string clear = "\r\033[K";
    std::vector<std::string> out;
    for (size_t at = written.find(clear); at != std::string::npos;) {
        const size_t next = written.find(clear, at + clear.size());
        out.push_back(written.substr(at + clear.size(), next - at - clear.size()));
        at = next;
    }
    return out;
}

// The lines that a command shows on a terminal of this width.
std::vector<std::string> shown_by(const std::vector<std::string> &arguments, uint16_t columns, int status = 0,
                                  const std::string &input = "") {
    Terminal terminal(columns);
    const Finished f = run_lamina(
        arguments, {.input = input, .environment = {{"TERM", "xterm"}, {"NO_COLOR", ""}}, .err = terminal.name()});
    CHECK(f.status == status);
    return shown(terminal.close_and_read());
}

bool has_terminals() {
    const int any = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (any < 0)
        WARN("this system has no pseudoterminals"); // as some containers
    else
        close(any);
    return any >= 0;
}

} // namespace

TEST_CASE("progress fits the terminal, says how much there is, and is gone at the end") {
    if (!has_terminals()) return;
    for (const uint16_t columns : {uint16_t{12}, uint16_t{40}, uint16_t{100}}) {
        const std::vector<std::string> lines = shown_by({"check", "linear", "--device", "cpu"}, columns);
        REQUIRE(lines.size() > 2);
        for (const std::string &line : lines) {
            INFO(columns << " columns: " << line);
            CHECK(characters(line) < columns);
        }
        CHECK(lines.back().empty());
        if (columns == 100) CHECK_THAT(lines.front(), matchers::contains("checking linear, cpu_fallback ░"));
        if (columns != 12) CHECK_THAT(lines.front(), matchers::contains(" 0/"));
    }
}

TEST_CASE("bench shows every case while it is measured, the last one, too") {
    if (!has_terminals()) return;
    const std::vector<std::string> lines =
        shown_by({"bench", "linear", "--case", "T=1,2 K=8 N=8", "--seconds", "0", "--device", "cpu"}, 100);
    for (const char *count : {" 0/2", " 1/2"})
        CHECK(std::ranges::any_of(
            lines, [&](const std::string &line) { return line.starts_with("linear") && line.ends_with(count); }));
}

TEST_CASE("an error has a line of its own, although progress was shown before it") {
    if (!has_terminals()) return;
    const std::vector<std::string> lines =
        shown_by({"run", g2p(), "--device", "cpu", "--json", "--on-error", "skip"}, 100, 3, "vulkan\nw0rd\nvulkan\n");
    CHECK(std::ranges::any_of(lines, [](const std::string &line) { return line.starts_with("texts 1"); }));
    CHECK(std::ranges::any_of(lines, [](const std::string &line) {
        return line.starts_with("lamina: ") && line.find("stdin, line 2") != std::string::npos;
    }));
}

TEST_CASE("help fits 80 columns") {
    for (const std::string command : {"",      "run",     "chat",       "serve",   "embed",   "search",  "compare",
                                      "check", "bench",   "profile",    "devices", "plugins", "inspect", "tokenize",
                                      "plot",  "plot pe", "new-plugin", "new-app", "init",    "convert"}) {
        std::vector<std::string> arguments;
        if (!command.empty()) arguments.push_back(command.substr(0, command.find(' ')));
        if (command.find(' ') != std::string::npos) arguments.push_back(command.substr(command.find(' ') + 1));
        arguments.emplace_back("--help");
        const Finished help = run_lamina(arguments);
        INFO(command);
        REQUIRE(help.status == 0);
        REQUIRE(help.out.find("\nUsage: lamina") != std::string::npos);
        for (const std::string &line : lines_of(help.out)) {
            INFO(line);
            CHECK(characters(line) <= 80);
        }
    }
}
