// What has been proved and measured on one device, kept in a file. The file is a shortcut only: a damaged one, or one
// of another format, counts as absent. A variant during whose cases two processes have ended is barred when it is read.
#pragma once

#include "abi/library.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace lamina::proof {

class Verdicts {
  public:
    struct Admitted {
        size_t tried = 0, passed = 0, cases = 0; // of the layer's own cases; what a variant does not do is tried only
        std::string why;                         // it is barred: the case that failed, and the command that replays it
        std::set<std::string> shapes{};          // cases like the steps of models: passed, or the one that barred it
        // A driver may crash, and the process with it: the case that is being run, or with which a process ended; which
        // process runs it, 0: none; how many have ended so.
        std::string trying{};
        int64_t process = 0;
        size_t deaths = 0;
        [[nodiscard]] bool barred() const { return !why.empty(); }
        // None failed, and not for want of one that was run.
        [[nodiscard]] bool complete() const { return !barred() && tried == cases && passed != 0; }
    };

    // An empty path: nothing is read or written.
    explicit Verdicts(std::filesystem::path file);

    // Barred when the file was read.
    struct Fallen {
        std::string layer, variant, why;
    };
    [[nodiscard]] const std::vector<Fallen> &fallen() const { return fallen_; }

    // Null when it is not known. The plugin's bytes are part of the key: a rebuilt plugin is proved anew.
    [[nodiscard]] const Admitted *find(const abi::Layer &layer, const std::string &variant) const;
    const Admitted &set(const abi::Layer &layer, const std::string &variant, Admitted admitted);
    void forget(const abi::Layer &layer);

    // The variant that was fastest for a layer on these shapes; "" when it has not been measured.
    [[nodiscard]] std::string fastest(const abi::Layer &layer, const std::string &shapes) const;
    void set_fastest(const abi::Layer &layer, const std::string &shapes, const std::string &variant);

    // Replaces the file when something has changed. A file that cannot be written is no error: it is proved again.
    void save();

  private:
    struct OfLayer {
        std::map<std::string, Admitted> variants;
        std::map<std::string, std::string> fastest; // by shapes
    };
    void load();

    std::filesystem::path file_;
    std::map<std::string, OfLayer> layers_; // by id and hash of the plugin
    std::vector<Fallen> fallen_;
    bool changed_ = false;
};

} // namespace lamina::proof
