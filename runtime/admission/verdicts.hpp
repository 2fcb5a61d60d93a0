// What has been proved and measured on one device, kept in a file. The file is a shortcut only: a damaged one, or one
// of another format, counts as absent. Several processes, and several of this in one, share it: each reads it again
// before it writes, and adds what it has found. What two write at the same moment may be lost, and is proved again.
#pragma once

#include "abi/library.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace lamina::admission {

class Verdicts {
  public:
    struct Admitted {
        size_t tried = 0, passed = 0, cases = 0; // of the layer's own cases; what a variant does not do is tried only
        std::string why;                         // it is barred: the case that failed, and the command that replays it
        std::set<std::string> shapes{};          // cases like the steps of models: passed, or the one that barred it
        [[nodiscard]] bool barred() const { return !why.empty(); }
        // None failed, and not for want of one that was run.
        [[nodiscard]] bool complete() const { return !barred() && tried == cases && passed != 0; }
    };

    // An empty path: nothing is read or written.
    explicit Verdicts(std::filesystem::path file);

    // Null when it is not known. The plugin's bytes are part of the key: a rebuilt plugin is proved anew.
    [[nodiscard]] const Admitted *find(const abi::Layer &layer, const std::string &variant) const;
    const Admitted &set(const abi::Layer &layer, const std::string &variant, Admitted admitted);
    void forget(const abi::Layer &layer);

    // The variant that was fastest for a layer on these shapes; "" when it has not been measured.
    [[nodiscard]] std::string fastest(const abi::Layer &layer, const std::string &shapes) const;
    void set_fastest(const abi::Layer &layer, const std::string &shapes, const std::string &variant);

    // Adds what is new here to the file, and takes over what others have added: barred by one is barred. A file that
    // cannot be written is no error: it is proved again.
    void save();

  private:
    struct OfLayer {
        std::map<std::string, Admitted> variants;
        std::map<std::string, std::string> fastest; // by shapes
    };
    using Layers = std::map<std::string, OfLayer>; // by id and hash of the plugin

    [[nodiscard]] Layers read() const;
    void write(const Layers &layers) const;
    [[nodiscard]] static Admitted merge(const Admitted &theirs, const Admitted &own);
    void add_own_to(Layers &layers) const;

    std::filesystem::path file_;
    Layers layers_;                   // all that is known
    Layers own_;                      // of these: what the file does not have yet
    std::set<std::string> forgotten_; // and what it still has
};

} // namespace lamina::admission
