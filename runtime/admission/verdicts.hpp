// What has been proved and measured on one device, kept in a file. The file is a shortcut only: a damaged one, or one
// of another format, counts as absent. Several processes, and several of this in one, share it: each adds what it has
// found. A variant during one of whose cases a process has ended twice is barred when that is read.
#pragma once

#include "abi/library.hpp"
#include "admission/running_case.hpp"

#include <chrono>
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

    // Barred when the file was read.
    struct Fallen {
        std::string layer, variant, why;
    };
    [[nodiscard]] const std::vector<Fallen> &fallen() const { return fallen_; }

    // Null when it is not known. The plugin's bytes are part of the key: a rebuilt plugin is proved anew.
    [[nodiscard]] const Admitted *find(const abi::Layer &layer, const std::string &variant) const;
    const Admitted &set(const abi::Layer &layer, const std::string &variant, Admitted admitted);
    void forget(const abi::Layer &layer);

    // To be held while a case is run: where the process ends meanwhile, the next one knows in which. What is known so
    // far is saved first. What is saved afterwards says that the case has been survived.
    [[nodiscard]] RunningCase begin(const abi::Layer &layer, const std::string &variant, const std::string &text);

    // The variant that was fastest for a layer on these shapes; "" when it has not been measured.
    [[nodiscard]] std::string fastest(const abi::Layer &layer, const std::string &shapes) const;
    void set_fastest(const abi::Layer &layer, const std::string &shapes, const std::string &variant);

    // Adds what is new here to the file, and takes over what others have added: barred by one is barred. A file that
    // cannot be written, or that another process keeps to itself, is no error: it is proved again.
    void save();

  private:
    using Deaths = std::map<std::string, size_t>; // by case
    struct OfLayer {
        std::map<std::string, Admitted> variants;
        std::map<std::string, std::string> fastest; // by shapes
        std::map<std::string, Deaths> deaths;       // by variant
    };
    using Layers = std::map<std::string, OfLayer>; // by id and hash of the plugin

    [[nodiscard]] Layers read() const;
    void write(const Layers &layers) const;
    void count(const CaseName &name);
    [[nodiscard]] static Admitted merge(const Admitted &theirs, const Admitted &own);
    void add_own_to(Layers &layers) const;

    std::filesystem::path file_;
    Layers layers_; // all that is known
    Layers own_;    // since it was last saved; of its deaths: those whose cases were survived after all
    std::set<std::string> forgotten_; // the same: of layers_
    std::vector<Fallen> fallen_;
    std::chrono::milliseconds patience_{1000}; // with others, who hold the file for milliseconds
};

} // namespace lamina::admission
