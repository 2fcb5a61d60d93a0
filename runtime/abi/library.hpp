// Plugins as the host sees them: loaded, checked, never unloaded.
#pragma once

#include <lamina/error.hpp>
#include <lamina/plugin.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::abi {

struct Pattern;

// A layer plugin whose descriptor has been checked completely.
struct Layer {
    const lamina_layer *contract = nullptr; // the host's copy
    std::filesystem::path path;
    uint64_t hash = 0; // of the bytes that were loaded; verdicts about its kernels are keyed by it
    std::shared_ptr<const lamina_layer> owned{}; // keeps `contract`
    std::shared_ptr<const Pattern> pattern{};    // of a fusion: what it replaces; else null

    [[nodiscard]] std::string_view id() const { return contract->id; }
};

// A fast way to run a layer on the CPU.
struct CpuVariant {
    std::string name; // "cpu_fallback": the executor's id. If it is less exact than F32, with that: "cpu_fallback_f16"
    uint32_t arithmetic = LAMINA_F32;
    const lamina_cpu_kernel *kernel = nullptr;
};

struct Executor {
    std::shared_ptr<const lamina_executor> descriptor; // the host's copy
    std::filesystem::path path;
    uint64_t hash = 0; // as in Layer

    // The variants of a layer on the CPU, the most exact first. None if there is no kernel with its id and contract;
    // then the reference runs.
    [[nodiscard]] std::vector<CpuVariant> variants(const lamina_layer &contract) const;
};

struct Rejected {
    std::filesystem::path path;
    std::string reason; // what was expected and found
};

// Every plugin that was found. Immutable, and shared by everything that runs layers.
class Registry {
  public:
    // Loads every lamina_*.so in these folders, in order. A library that cannot be used is listed in rejected(), and
    // the others are still loaded. If two folders have the same layer, the first folder's is used and the other
    // rejected; two in one folder are both rejected. World-writable files and folders are refused. A folder that does
    // not exist is an Error(plugin). A fusion of layers that are not there is rejected, too.
    static std::shared_ptr<const Registry> discover(const std::vector<std::filesystem::path> &folders);

    // --plugin-dir values, then $LAMINA_PLUGIN_PATH (colon-separated), then the folder that belongs to this library.
    static std::vector<std::filesystem::path> search_path(const std::vector<std::filesystem::path> &first);

    // Throws Error(plugin) with the nearest known name, or with the reason if its library was rejected.
    [[nodiscard]] const Layer &layer(std::string_view id) const;
    [[nodiscard]] const std::map<std::string, Layer, std::less<>> &layers() const { return layers_; }
    [[nodiscard]] const Executor *executor() const { return executor_ ? executor_.get() : nullptr; } // the device cpu
    [[nodiscard]] const std::vector<Rejected> &rejected() const { return rejected_; }
    // All that were looked in.
    [[nodiscard]] const std::vector<std::filesystem::path> &folders() const { return folders_; }

  private:
    class Finder;
    std::map<std::string, Layer, std::less<>> layers_;
    std::unique_ptr<Executor> executor_;
    std::vector<Rejected> rejected_;
    std::vector<std::filesystem::path> folders_;
};

} // namespace lamina::abi
