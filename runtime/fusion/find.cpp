#include "fusion/fusion.hpp"

#include "abi/pattern.hpp"
#include "fusion/order.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>

#include <utility>

namespace lamina::fusion {
namespace {

using abi::Pattern, abi::PortList;

constexpr size_t nobody = SIZE_MAX;

// Who computes and who takes each tensor of a plan.
struct Uses {
    std::vector<size_t> maker;               // step, or nobody
    std::vector<std::vector<size_t>> takers; // steps

    explicit Uses(const plan::GraphPlan &plan) : maker(plan.tensors.size(), nobody), takers(plan.tensors.size()) {
        for (size_t s = 0; s < plan.steps.size(); ++s) {
            for (const int32_t t : plan.steps[s].in)
                if (t != plan::none) takers[static_cast<size_t>(t)].push_back(s);
            for (const int32_t t : plan.steps[s].out) maker[static_cast<size_t>(t)] = s;
        }
    }
};

// What the parts of a pattern are in a plan, as far as they are known.
struct Binding {
    std::vector<std::optional<size_t>> steps;                   // by member
    std::vector<std::optional<int32_t>> tensors, weight, state; // tensors of the plan, or none for what is left out
    std::vector<std::optional<double>> params;
};

template <class T> bool set(std::optional<T> &known, const T &value) {
    if (!known) known = value;
    return *known == value;
}

// Finds the matches of one fusion.
class Finder {
  public:
    Finder(const plan::GraphPlan &plan, const Uses &uses, const abi::Layer &fusion)
        : plan_(plan), uses_(uses), fusion_(fusion), pattern_(*fusion.pattern), taken_(plan.steps.size()) {}

    std::vector<Match> run() {
        const lamina_layer &contract = *fusion_.contract;
        std::vector<Match> out;
        for (size_t s = 0; s < plan_.steps.size(); ++s) {
            Binding empty;
            empty.steps.resize(pattern_.members.size()), empty.tensors.resize(static_cast<size_t>(pattern_.tensors));
            empty.weight.resize(contract.n_weights), empty.state.resize(contract.n_states);
            empty.params.resize(contract.n_params);
            auto match = with(std::move(empty), 0, s);
            if (!match) continue;
            for (const size_t step : match->steps) taken_[step] = true;
            out.push_back(std::move(*match));
        }
        return out;
    }

  private:
    // The match in which a member is this step, if there is one.
    std::optional<Match> with(Binding binding, size_t member, size_t step) const {
        if (!bind(binding, member, step)) return std::nullopt;
        for (size_t m = 0; m < pattern_.members.size(); ++m) {
            if (binding.steps[m]) continue;
            const auto candidates = candidates_of(binding, pattern_.members[m]);
            if (!candidates) continue; // not connected yet
            for (const size_t s : *candidates)
                if (auto match = with(binding, m, s)) return match;
            return std::nullopt;
        }
        if (!std::ranges::all_of(binding.steps, [](const auto &s) { return s.has_value(); })) return std::nullopt;
        return finished(binding);
    }

    // The steps that may be a member, from a tensor of it that is known; nothing if none is.
    [[nodiscard]] std::optional<std::vector<size_t>> candidates_of(const Binding &binding,
                                                                   const Pattern::Member &member) const {
        const auto known = [&](int32_t t) {
            return t == Pattern::left_out ? plan::none : binding.tensors[static_cast<size_t>(t)].value_or(plan::none);
        };
        for (int32_t t = member.first_out; t < member.first_out + member.outputs(); ++t)
            if (const int32_t tensor = known(t); tensor != plan::none) {
                const size_t maker = uses_.maker[static_cast<size_t>(tensor)];
                return maker == nobody ? std::vector<size_t>() : std::vector{maker};
            }
        for (const int32_t t : member.in)
            if (const int32_t tensor = known(t); tensor != plan::none) return uses_.takers[static_cast<size_t>(tensor)];
        return std::nullopt;
    }

    bool bind(Binding &binding, size_t m, size_t s) const {
        const Pattern::Member &member = pattern_.members[m];
        const plan::Step &step = plan_.steps[s];
        if (taken_[s] || &step.call.layer() != member.layer ||
            std::ranges::find(binding.steps, s) != binding.steps.end())
            return false;
        binding.steps[m] = s;
        for (size_t i = 0; i < member.params.size(); ++i) {
            const Pattern::Param &param = member.params[i];
            const double value = step.call.params()[i];
            if (param.of ? !set(binding.params[*param.of], value) : param.value != value) return false;
        }
        const auto bind_ports = [&](const std::vector<int32_t> &ports, const std::vector<int32_t> &tensors,
                                    PortList list, std::vector<std::optional<int32_t>> &known) {
            for (size_t i = 0; i < ports.size(); ++i) {
                const bool own = list == PortList::state || step.call.bound(list)[i] == i;
                const int32_t tensor = own ? tensors[i] : plan::none; // another port stands in for it
                if (ports[i] == Pattern::left_out ? tensor != plan::none
                                                  : !set(known[static_cast<size_t>(ports[i])], tensor))
                    return false;
            }
            return true;
        };
        if (!bind_ports(member.in, step.in, PortList::in, binding.tensors) ||
            !bind_ports(member.weight, step.weight, PortList::weight, binding.weight) ||
            !bind_ports(member.state, step.state, PortList::state, binding.state))
            return false;
        for (size_t i = 0; i < step.out.size(); ++i)
            if (!set(binding.tensors[static_cast<size_t>(member.first_out) + i], step.out[i])) return false;
        return true;
    }

    // The match, unless somebody else takes what is between its members, or the fusion refuses it.
    [[nodiscard]] std::optional<Match> finished(const Binding &binding) const {
        std::vector<size_t> steps;
        for (const auto &step : binding.steps) steps.push_back(*step);
        const auto inputs = static_cast<size_t>(fusion_.contract->n_inputs);
        for (size_t t = inputs; t < binding.tensors.size(); ++t) {
            const int32_t tensor = *binding.tensors[t];
            const bool inside = std::ranges::all_of(uses_.takers[static_cast<size_t>(tensor)], [&](size_t s) {
                return std::ranges::find(steps, s) != steps.end();
            });
            if (!pattern_.is_output(static_cast<int32_t>(t)) &&
                (!inside || plan_.tensors[static_cast<size_t>(tensor)].output))
                return std::nullopt;
        }
        auto fused = step_of(binding);
        if (!fused) return std::nullopt;
        Match out{std::move(steps), std::move(*fused)};
        if (!order(plan_, {&out, 1})) return std::nullopt;
        return out;
    }

    [[nodiscard]] std::optional<plan::Step> step_of(const Binding &binding) const {
        const lamina_layer &contract = *fusion_.contract;
        const plan::Step &first = plan_.steps[*binding.steps.front()], &last = plan_.steps[*binding.steps.back()];
        abi::Params params;
        for (size_t i = 0; i < binding.params.size(); ++i)
            if (binding.params[i])
                params[contract.params[i].name] = abi::param_value(contract.params[i], *binding.params[i]);
        abi::CallTypes types;
        const auto add = [&](PortList list, auto &to, const std::vector<std::optional<int32_t>> &tensors) {
            const auto ports = abi::ports_of(contract, list).ports;
            for (size_t i = 0; i < ports.size(); ++i)
                if (tensors[i] && *tensors[i] != plan::none)
                    to[ports[i].name] = plan_.tensors[static_cast<size_t>(*tensors[i])].type;
        };
        add(PortList::in, types.in, binding.tensors);
        add(PortList::weight, types.weight, binding.weight);
        add(PortList::state, types.state, binding.state);
        try {
            abi::LayerCall call(fusion_, params, types, "layers '" + first.name + "' to '" + last.name + "', fused");
            plan::Step out{first.name, std::move(call), {}, {}, {}, {}, {}};
            const auto fill = [&](PortList list, std::vector<int32_t> &to,
                                  const std::vector<std::optional<int32_t>> &tensors) {
                const std::vector<uint32_t> &bound = out.call.bound(list);
                for (size_t i = 0; i < bound.size(); ++i)
                    to.push_back(bound[i] != i ? to[bound[i]] : tensors[i].value_or(plan::none));
            };
            fill(PortList::in, out.in, binding.tensors);
            fill(PortList::weight, out.weight, binding.weight);
            fill(PortList::state, out.state, binding.state);
            for (const auto &step : binding.steps) out.replaces.push_back(plan_.steps[*step].name);
            for (const int32_t t : pattern_.outputs) out.out.push_back(*binding.tensors[static_cast<size_t>(t)]);
            return out;
        } catch (const Error &e) {
            if (e.code() != ErrorCode::input) throw;
            return std::nullopt; // such as a dtype that it does not take
        }
    }

    const plan::GraphPlan &plan_;
    const Uses &uses_;
    const abi::Layer &fusion_;
    const Pattern &pattern_;
    std::vector<bool> taken_; // steps of matches that were found
};

} // namespace

std::vector<Match> find(const plan::GraphPlan &plan, const abi::Registry &plugins,
                        const std::function<bool(const abi::Layer &)> &wanted) {
    const Uses uses(plan);
    std::vector<Match> out;
    for (const auto &[id, layer] : plugins.layers())
        if (layer.pattern != nullptr && (!wanted || wanted(layer)))
            std::ranges::move(Finder(plan, uses, layer).run(), std::back_inserter(out));
    std::ranges::stable_sort(out, std::greater(), [](const Match &m) { return m.steps.size(); });
    return out;
}

bool overlap(const Match &a, const Match &b) { return std::ranges::find_first_of(a.steps, b.steps) != a.steps.end(); }

plan::GraphPlan fuse(const plan::GraphPlan &plan, std::span<const Match> matches) {
    std::vector<Match> placed;
    for (const Match &match : matches) {
        if (std::ranges::any_of(placed, [&](const Match &other) { return overlap(match, other); })) continue;
        placed.push_back(match);
    }
    auto places = order(plan, placed);
    while (!places) placed.pop_back(), places = order(plan, placed);
    std::vector<plan::Step> steps;
    for (const Place &place : *places)
        steps.push_back(place.is_match ? placed[place.index].fused : plan.steps[place.index]);
    return plan::with_steps(plan, std::move(steps));
}

} // namespace lamina::fusion
