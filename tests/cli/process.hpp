// Runs the `lamina` command and captures its results.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

struct Finished {
    int status = 0; // as in shells: 128 + N if signal N ended it
    std::string out, err;
    int64_t most_kib = 0; // of memory that it used at a time
};

struct Surroundings {
    std::string input = {};                              // on stdin
    std::map<std::string, std::string> environment = {}; // in addition to the test's environment without LAMINA_...
    std::string out = {};                                // a file for stdout ("/dev/full"); empty: Finished::out
    std::string err = {};                                // the same for stderr
    std::string folder = {};                             // to run in; empty: that of the test
    std::map<int, uint64_t> limits = {};                 // RLIMIT_...: value
    std::vector<int> closed = {};                        // of stdin, stdout and stderr
};

// Killed with status 142 if it takes more than a minute.
Finished run_lamina(const std::vector<std::string> &arguments, const Surroundings &surroundings = {});

// Starts it with a stdin that stays open, so that a test can wait for its output and then send signals.
class Running {
  public:
    explicit Running(const std::vector<std::string> &arguments, const Surroundings &surroundings = {});
    Running(const Running &) = delete;
    Running &operator=(const Running &) = delete;
    ~Running();

    void write(std::string_view text);
    // The next line of stdout, without "\n"; at the end, whatever is left.
    [[nodiscard]] std::string line();
    // Closes the reading end of its stdout: from now on nobody reads it.
    void leave();
    void send(int signal);
    // Sends a signal (0: none), closes its stdin and waits. Returns the exit status as in Finished.
    int finish(int signal = 0);

  private:
    int process_ = -1, to_ = -1, from_ = -1;
};

// The model that comes with this project, and the lines of a text.
[[nodiscard]] std::string g2p();
[[nodiscard]] std::vector<std::string> lines_of(const std::string &text);
