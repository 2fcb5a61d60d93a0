// Runs the `lamina` command and captures its results.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

struct Finished {
    int status = 0; // as shells have it: 128 + N when signal N ended it
    std::string out, err;
};

struct Surroundings {
    std::string input = {}; // on stdin
    std::map<std::string, std::string> environment =
        {};                  // beside what the test runs in, of which LAMINA_... is left out
    std::string out = {};    // a file for stdout ("/dev/full"); empty: Finished::out
    std::string folder = {}; // to run in; empty: that of the test
};

// Killed, with status 142, when it takes more than a minute.
Finished run_lamina(const std::vector<std::string> &arguments, const Surroundings &surroundings = {});

// Starts it with a stdin that stays open; what it has written to stdout can be awaited, then it is sent a signal.
class Running {
  public:
    explicit Running(const std::vector<std::string> &arguments);
    Running(const Running &) = delete;
    Running &operator=(const Running &) = delete;
    ~Running();

    void write(std::string_view text);
    // The next line of stdout, without "\n"; what there was before the end of it, when it ends.
    [[nodiscard]] std::string line();
    // Closes the reading end of its stdout: from now on it writes to nobody.
    void leave();
    // Sends a signal (0: none), closes its stdin and waits. The exit status as in Finished.
    int finish(int signal = 0);

  private:
    int process_ = -1, to_ = -1, from_ = -1;
};

// The model of this project, and the lines of a text.
[[nodiscard]] std::string g2p();
[[nodiscard]] std::vector<std::string> lines_of(const std::string &text);
