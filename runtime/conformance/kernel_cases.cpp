#include "conformance/kernel_cases.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>

namespace lamina::conformance {
namespace {

constexpr size_t most_bases = 12; // cases that are tried as the base of a new one
constexpr double most_work = 3e6; // of a case

// Something of a case that a kernel may be specialized for, as a case's text has it: "activation=gelu", "weights=f16",
// "T=1". The kind is what a case has one of.
struct Trait {
    std::string kind, value;
    auto operator<=>(const Trait &) const = default; // NOLINT(modernize-use-nullptr): there is none
};

class Traits {
  public:
    explicit Traits(const lamina_layer &layer) : layer_(layer) {
        for (const lamina_param &p : std::span(layer.params, layer.n_params))
            if (p.kind == LAMINA_CHOICE)
                for (const std::string &choice : choices_of(p)) wanted_.insert({p.name, choice});
            else if (p.kind == LAMINA_INT)
                wanted_.insert({p.name, "1"});
        if (layer.n_weights != 0)
            for (const DType dtype : weight_dtypes(layer)) wanted_.insert({weights, lamina::name_of(dtype)});
        for (const lamina_port &p : states_of_layer())
            for (const DType dtype : state_dtypes(p))
                if (state_dtypes(p).size() > 1) wanted_.insert({states, lamina::name_of(dtype)});
    }

    // Those that each kernel should meet; of the dims, those that a case of the kernel has.
    [[nodiscard]] std::set<Trait> wanted(const Case &c) const {
        std::set<Trait> out = wanted_;
        for (const auto &[dim, size] : c.dims) out.insert({dim, "1"});
        return out;
    }

    [[nodiscard]] std::set<Trait> of(const Case &c) const {
        std::set<Trait> out;
        for (const lamina_param &p : std::span(layer_.params, layer_.n_params))
            if (const auto given = c.params.find(p.name); p.kind == LAMINA_CHOICE)
                out.insert({p.name, given != c.params.end() ? std::get<std::string>(given->second)
                                                            : choices_of(p).at(static_cast<size_t>(p.dflt))});
            else if (p.kind == LAMINA_INT && (given != c.params.end() ? std::get<double>(given->second) : p.dflt) == 1)
                out.insert({p.name, "1"});
        for (const lamina_port &p : std::span(layer_.weights, layer_.n_weights))
            if ((p.flags & LAMINA_OPTIONAL) == 0 || c.given.contains(p.name))
                out.insert({weights, lamina::name_of(weight_dtype(p, c))});
        for (const lamina_port &p : states_of_layer())
            if (c.given.contains(p.name)) out.insert({states, lamina::name_of(state_dtype(p, c))});
        for (const auto &[dim, size] : c.dims)
            if (size == 1) out.insert({dim, "1"});
        return out;
    }

    // For each choice of the case, another value of it.
    [[nodiscard]] std::vector<Trait> other_choices(const Case &c) const {
        std::vector<Trait> out;
        const std::set<Trait> has = of(c);
        for (const lamina_param &p : std::span(layer_.params, layer_.n_params)) {
            if (p.kind != LAMINA_CHOICE) continue;
            const std::vector<std::string> choices = choices_of(p);
            const auto other = std::ranges::find_if(choices, [&](const std::string &choice) {
                return !has.contains(Trait{p.name, choice});
            });
            if (other != choices.end()) out.push_back({p.name, *other});
        }
        return out;
    }

    // The same case with a trait.
    [[nodiscard]] Case with(const Trait &trait, Case c) const {
        if (trait.kind == weights) {
            for (const lamina_port &p : std::span(layer_.weights, layer_.n_weights)) c.dtypes.erase(p.name);
            for (const DType dtype : weight_dtypes(layer_))
                if (trait.value == lamina::name_of(dtype)) c.weights = dtype;
        } else if (trait.kind == states) {
            for (const lamina_port &p : states_of_layer()) {
                c.dtypes.erase(p.name);
                for (const DType dtype : state_dtypes(p))
                    if (dtype != DType::f32 && trait.value == lamina::name_of(dtype) && c.given.contains(p.name))
                        c.dtypes[p.name] = dtype;
            }
        } else if (c.dims.contains(trait.kind)) {
            c.dims[trait.kind] = 1;
        } else if (trait.value == "1") {
            c.params[trait.kind] = 1.0;
        } else {
            c.params[trait.kind] = trait.value;
        }
        fill_blocks(layer_, c);
        return c;
    }

  private:
    static constexpr const char *weights = "weights", *states = "states";

    [[nodiscard]] std::span<const lamina_port> states_of_layer() const { return {layer_.states, layer_.n_states}; }

    static std::vector<std::string> choices_of(const lamina_param &p) {
        std::istringstream in(p.choices);
        std::vector<std::string> out;
        for (std::string choice; std::getline(in, choice, '|');) out.push_back(choice);
        return out;
    }

    const lamina_layer &layer_;
    std::set<Trait> wanted_;
};

// A kernel of a variant: the cases that dispatch it, by work.
struct Use {
    std::vector<std::pair<double, const Case *>> cases;
    std::set<Trait> wanted;
};
using Pipelines = std::map<uint32_t, std::set<plan::Pipeline>>; // by kernel

class Maker {
  public:
    Maker(const abi::Layer &layer, plan::Device &device, const std::vector<Case> &cases)
        : layer_(layer), device_(device), traits_(*layer.contract), variants_(device.variants(layer)) {
        for (const Case &c : cases) {
            const double work = work_of(call_of(layer, c));
            for (size_t v = 0; v < variants_.size(); ++v)
                for (const auto &[kernel, pipelines] : pipelines_of(c, v)) {
                    Use &use = uses_[kernel][v];
                    use.wanted.merge(traits_.wanted(c));
                    use.cases.emplace_back(work, &c);
                    for (const std::string &kind : felt(c, kernel, v)) specialized_[kernel].insert(kind);
                }
        }
    }

    std::vector<KernelCase> run() {
        for (auto &[kernel, by_variant] : uses_) {
            std::set<Trait> met;
            for (const auto &[v, use] : by_variant)
                for (const auto &[work, c] : use.cases) met.merge(met_in(*c, kernel, v));
            for (auto &[v, use] : by_variant) {
                std::erase_if(use.cases, [](const auto &entry) { return entry.first > most_work; });
                std::ranges::stable_sort(use.cases, {}, [](const auto &entry) { return entry.first; });
                if (use.cases.size() > most_bases) use.cases.resize(most_bases);
                make(kernel, v, use, met);
            }
        }
        return std::move(out_);
    }

  private:
    // None if the layer refuses the case.
    [[nodiscard]] Pipelines pipelines_of(const Case &c, size_t variant) const {
        Pipelines out;
        try {
            for (const plan::Pipeline &pipeline : device_.pipelines(call_of(layer_, c), variants_[variant].name))
                out[pipeline.kernel].insert(pipeline);
        } catch (const Error &) {
        }
        return out;
    }

    // The choices for which the kernel is specialized in this case: with another one, its constants are others.
    [[nodiscard]] std::set<std::string> felt(const Case &c, uint32_t kernel, size_t variant) const {
        std::set<std::string> out;
        const Pipelines here = pipelines_of(c, variant);
        for (const Trait &other : traits_.other_choices(c)) {
            const Pipelines there = pipelines_of(traits_.with(other, c), variant);
            if (there.contains(kernel) && there.at(kernel) != here.at(kernel)) out.insert(other.kind);
        }
        return out;
    }

    // What the kernel, which the case dispatches, meets in it. A layer may dispatch several kernels, and its choice, or
    // one of several dtypes, be that of another.
    [[nodiscard]] std::set<Trait> met_in(const Case &c, uint32_t kernel, size_t variant) const {
        std::set<Trait> out = traits_.of(c);
        const std::set<std::string> felt_here = felt(c, kernel, variant);
        const auto specialized = specialized_.find(kernel);
        std::map<std::string, size_t> count;
        for (const Trait &trait : out) ++count[trait.kind];
        std::erase_if(out, [&](const Trait &trait) {
            const bool elsewhere = specialized != specialized_.end() && specialized->second.contains(trait.kind);
            return count[trait.kind] > 1 || (elsewhere && !felt_here.contains(trait.kind));
        });
        return out;
    }

    // The case with the trait, if the layer accepts it and the kernel meets it there.
    [[nodiscard]] std::optional<Case> changed(const Case &c, const Trait &trait, uint32_t kernel,
                                              size_t variant) const {
        Case out = traits_.with(trait, c);
        if (!pipelines_of(out, variant).contains(kernel) || work_of(call_of(layer_, out)) > most_work) return {};
        if (!met_in(out, kernel, variant).contains(trait)) return {};
        return out;
    }

    // Until no further trait can be had. What is made is a base, too: one that has a trait may allow another.
    void make(uint32_t kernel, size_t variant, const Use &use, std::set<Trait> &met) {
        std::vector<Case> bases;
        for (const auto &[work, c] : use.cases) bases.push_back(*c);
        for (bool more = true; more;) {
            more = false;
            for (const Trait &missing : use.wanted) {
                if (met.contains(missing)) continue;
                for (size_t i = 0; i < bases.size(); ++i) {
                    auto made = changed(bases[i], missing, kernel, variant);
                    if (!made) continue;
                    add_others(*made, missing, kernel, variant, use.wanted, met);
                    met.merge(met_in(*made, kernel, variant));
                    bases.push_back(*made);
                    out_.push_back({std::move(*made), variants_[variant]});
                    more = true;
                    break;
                }
            }
        }
    }

    // Gives the case as many of the other missing traits as it can have, so that there are few cases.
    void add_others(Case &c, const Trait &first, uint32_t kernel, size_t variant, const std::set<Trait> &wanted,
                    const std::set<Trait> &met) const {
        std::set<Trait> kept{first};
        for (const Trait &other : wanted) {
            if (met.contains(other)) continue;
            auto both = changed(c, other, kernel, variant);
            if (!both || !std::ranges::includes(met_in(*both, kernel, variant), kept)) continue;
            c = std::move(*both);
            kept.insert(other);
        }
    }

    const abi::Layer &layer_;
    plan::Device &device_;
    const Traits traits_;
    const std::vector<plan::Variant> variants_;
    std::map<uint32_t, std::map<size_t, Use>> uses_;
    std::map<uint32_t, std::set<std::string>> specialized_; // for which choices, in some case
    std::vector<KernelCase> out_;
};

} // namespace

std::vector<KernelCase> kernel_cases(const abi::Layer &layer, plan::Device &device, const std::vector<Case> &cases) {
    return Maker(layer, device, cases).run();
}

} // namespace lamina::conformance
