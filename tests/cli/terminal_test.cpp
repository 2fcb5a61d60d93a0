// What is shown on a terminal while something is being done.
#include "catch.hpp"
#include "process.hpp"

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

} // namespace

TEST_CASE("progress fits the terminal, says how much there is, and is gone at the end") {
    const int any = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (any < 0) { // in some containers
        WARN("this system has no pseudoterminals");
        return;
    }
    close(any);
    for (const uint16_t columns : {uint16_t{12}, uint16_t{40}, uint16_t{100}}) {
        Terminal terminal(columns);
        const Finished f = run_lamina({"check", "linear", "--device", "cpu"},
                                      {.environment = {{"TERM", "xterm"}, {"NO_COLOR", ""}}, .err = terminal.name()});
        CHECK(f.status == 0);
        const std::vector<std::string> lines = shown(terminal.close_and_read());
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

TEST_CASE("help fits 80 columns") {
    for (const std::string command : {"", "run", "chat", "compare", "check", "bench", "profile", "devices", "plugins",
                                      "inspect", "tokenize", "plot", "plot pe", "new-plugin", "init", "convert"}) {
        std::vector<std::string> arguments;
        if (!command.empty()) arguments.push_back(command.substr(0, command.find(' ')));
        if (command.find(' ') != std::string::npos) arguments.push_back(command.substr(command.find(' ') + 1));
        arguments.emplace_back("--help");
        for (const std::string &line : lines_of(run_lamina(arguments).out)) {
            INFO(command << ": " << line);
            CHECK(characters(line) <= 80);
        }
    }
}
