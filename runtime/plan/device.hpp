// A device: what sessions, proofs and measurements know of a GPU, of the CPU and of the interpreter alike.
#pragma once

#include "abi/library.hpp"
#include "model/weights.hpp"
#include "plan/planner.hpp"
#include "plan/program.hpp"

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lamina::plan {

struct Variant {
    std::string name;
    uint32_t arithmetic = LAMINA_F32; // selects the tolerance
    bool baseline = false;            // must accept every case; a fusion has none
};

// What a driver compiles: a kernel of a layer, with its specialization.
struct Pipeline {
    uint32_t kernel = 0;
    std::vector<std::pair<uint32_t, uint32_t>> constants; // ids and bits, sorted
    auto operator<=>(const Pipeline &) const = default;   // NOLINT(modernize-use-nullptr): there is none
};

// What a driver's compiler made of a pipeline.
struct Compiled {
    std::string error;                        // why it refuses the kernel; else empty
    std::map<std::string, double> statistics; // under the driver's names, such as "VGPRs"; empty if it gives none
};

// An open device, for the layers of some plugins. Thread-safe.
class Device {
  public:
    virtual ~Device() = default;
    Device() = default;
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;

    [[nodiscard]] virtual const std::shared_ptr<const abi::Registry> &plugins() const = 0;
    [[nodiscard]] virtual std::string id() const = 0;   // as --device takes it: "vulkan:0"
    [[nodiscard]] virtual std::string name() const = 0; // for people: "NVIDIA H100"
    // For names of files with what is known of it: the hardware, and what makes its kernels.
    [[nodiscard]] virtual std::string cache_key() const { return id(); }

    // The device with the weights of a model, which it takes as programs need them.
    [[nodiscard]] virtual std::unique_ptr<Backend> backend(model::Weights weights) = 0;
    // Whether several threads may use it at the same time, each with another(); else one thread uses all of it.
    [[nodiscard]] virtual bool parallel() const { return false; }
    // The same hardware for another thread, so that two compile and run kernels at the same time; null if not parallel.
    [[nodiscard]] virtual std::shared_ptr<Device> another() { return nullptr; }

    // ---- Variants of a layer ----
    [[nodiscard]] virtual std::vector<Variant> variants(const abi::Layer &layer) const = 0;
    // Why a variant does not handle these shapes here; empty if it does.
    [[nodiscard]] virtual Refusal why_not(const abi::LayerCall &call, const std::string &variant) = 0;
    // What a variant runs for these shapes, with what it prepares; empty if it does not handle them, or has no kernels.
    [[nodiscard]] virtual std::set<Pipeline> pipelines(const abi::LayerCall &, const std::string &) { return {}; }
    // Compiles a pipeline, but does not run it. Nothing on a device without a compiler. Several threads may call it.
    [[nodiscard]] virtual std::optional<Compiled> compile(const abi::Layer &, const Pipeline &) { return {}; }
    // How much code that is, and so how long a driver may take to compile it.
    [[nodiscard]] virtual size_t code_size(const abi::LayerCall &, const std::string &) { return 0; }
    // Whether it binds weights in parts on a device whose bindings are small enough: ProgramOptions::in_parts.
    [[nodiscard]] virtual bool binds_parts(const abi::LayerCall &, const std::string &) { return false; }

    // ---- How variants are proved ----
    // The most that a case like a model's step may take.
    struct Limits {
        double work = 1e8;      // multiplications of the reference: a few tenths of a second
        double values = 0x1p30; // of all its tensors
    };
    [[nodiscard]] virtual Limits limits() const { return {}; }
    // What computes a layer if no variant may run; empty if nothing does.
    [[nodiscard]] virtual std::string fallback() const { return {}; }
    [[nodiscard]] virtual bool has_kernels() const { return false; } // those that the interpreter knows
    // Whether one run shows what a second one would, because it stops at everything that a result could depend on
    // beside its inputs.
    [[nodiscard]] virtual bool strict() const { return false; }
};

// One that runs the kernels of plugins, as they plan it.
class KernelDevice : public Device {
  public:
    KernelDevice(std::shared_ptr<const abi::Registry> plugins, const lamina_device &capabilities,
                 size_t most_bindings = SIZE_MAX)
        : planner_(std::make_shared<Planner>(std::move(plugins), capabilities, most_bindings)) {}

    [[nodiscard]] const std::shared_ptr<const abi::Registry> &plugins() const override { return planner_->plugins(); }
    [[nodiscard]] std::vector<Variant> variants(const abi::Layer &layer) const override;
    [[nodiscard]] Refusal why_not(const abi::LayerCall &call, const std::string &variant) override;
    [[nodiscard]] std::set<Pipeline> pipelines(const abi::LayerCall &call, const std::string &variant) override;
    [[nodiscard]] size_t code_size(const abi::LayerCall &call, const std::string &variant) override;
    [[nodiscard]] bool binds_parts(const abi::LayerCall &call, const std::string &variant) override;
    [[nodiscard]] bool has_kernels() const override { return true; }

  protected:
    [[nodiscard]] const std::shared_ptr<Planner> &planner() const { return planner_; }

  private:
    std::shared_ptr<Planner> planner_; // shared with backends
};

} // namespace lamina::plan
