// What has been proved and measured on one device, kept in a file. The file only saves time: one that is damaged or has
// another format counts as absent. Several processes may share it, and several objects in one process. Each reads the
// file again before it writes, and adds its own findings; they take turns.
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
    struct Verdict {
        size_t tried = 0, passed = 0, cases = 0; // of the layer's own cases; a skipped case counts as tried only
        std::string why{};                       // if barred: what was wrong
        std::string replay{};                    // and the command that runs the case again, if a case showed it
        [[nodiscard]] bool barred() const { return !why.empty(); }
        // All were tried, none failed, and at least one passed.
        [[nodiscard]] bool complete() const { return !barred() && tried == cases && passed != 0; }
    };
    // What is known of a variant. A model has hundreds of shapes, so they are not part of what is passed by value.
    struct Known {
        Verdict verdict{};
        std::set<std::string> shapes{}; // cases like the steps of models that passed, or that barred it
    };

    // An empty path: nothing is read or written.
    explicit Verdicts(std::filesystem::path file);

    // Null if nothing is known. The plugin's bytes are part of the key, so a rebuilt plugin is proved again.
    [[nodiscard]] const Known *find(const abi::Layer &layer, const std::string &variant) const;
    // Replaces the verdict, and adds a shape, unless it is empty.
    enum class Where { file, here }; // here: the file does not get it
    void set(const abi::Layer &layer, const std::string &variant, const Verdict &verdict, const std::string &shape = "",
             Where where = Where::file);
    void forget(const abi::Layer &layer);

    // The fastest variant for a layer on these shapes; "" if not measured.
    [[nodiscard]] std::string fastest(const abi::Layer &layer, const std::string &shapes) const;
    [[nodiscard]] size_t times_fastest(const abi::Layer &layer, const std::string &variant) const; // on how many shapes
    void set_fastest(const abi::Layer &layer, const std::string &shapes, const std::string &variant);

    // Adds what is new here to the file, and takes over what others have added. What one process has barred is barred.
    // Returns why the file could not be written, or "". That is no error; the proof is then repeated.
    std::string save();

  private:
    struct OfLayer {
        std::map<std::string, Known> variants;
        std::map<std::string, std::string> fastest; // by shapes
    };
    using Layers = std::map<std::string, OfLayer>; // by id and hash of the plugin

    [[nodiscard]] Layers read() const;
    void write(const Layers &layers) const;
    [[nodiscard]] static Known merge(const Known &theirs, const Known &own);
    void add_own_to(Layers &layers) const;

    std::filesystem::path file_;
    Layers layers_;                   // all that is known
    Layers here_;                     // the part that the file does not get
    Layers own_;                      // the part that the file does not have yet
    std::set<std::string> forgotten_; // what the file still has
};

} // namespace lamina::admission
