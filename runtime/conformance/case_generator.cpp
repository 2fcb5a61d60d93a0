#include "conformance/case_generator.hpp"

#include "base/random.hpp"
#include "conformance/case_menu.hpp"
#include "conformance/values.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <sstream>

namespace lamina::conformance {
namespace {

constexpr std::array<int64_t, 5> batches{1, 2, 3, 5, 8};
constexpr std::array<int64_t, 22> sizes{1,  2,  3,  5,  7,  8,  13,  16,  31,  32,  33,
                                        37, 61, 63, 64, 65, 97, 127, 128, 129, 257, 513};
constexpr std::array<int64_t, 5> large_sizes{769, 1023, 1025, 2048, 4097};
constexpr std::array<int64_t, 10> head_dims{8, 16, 20, 32, 37, 64, 80, 96, 128, 256};
constexpr std::array<int64_t, 6> counts{1, 2, 3, 4, 6, 8}; // of heads and the like
// For cases with one large dim.
constexpr std::array<int64_t, 4> small_sizes{1, 2, 3, 5};
constexpr std::array<int64_t, 3> large_batches{9, 17, 33};
constexpr std::array<int64_t, 3> long_sizes{577, 769, 1'001};
// Two rows of these have more than 2^17 values; so has a large batch of rows of a matrix, for which longer rows would
// cost too much.
constexpr std::array<int64_t, 3> longest_sizes{65'537, 65'600, 70'001}, wide_sizes{1'025, 1'027, 1'100};
constexpr int64_t large_batch = 129;
constexpr std::array<int64_t, 3> many{33, 65, 130}; // of heads and the like, once
constexpr double most_work_of_hard = 5e4, most_work_of_large = 2e7, most_values_of_large = 0x1p20;
constexpr int64_t large_tensor = 1 << 17;
constexpr int draws = 200; // attempts per set of optional ports
constexpr int few_draws = 20;

template <size_t N> int64_t pick(const std::array<int64_t, N> &from, Random &random) { return from[random.below(N)]; }

class Generator {
  public:
    Generator(const abi::Layer &layer, const GeneratorOptions &options)
        : layer_(layer), contract_(*layer.contract), options_(options), menu_(contract_), weight_types_(contract_),
          random_(options.seed, layer.id()) {}

    GeneratedCases run() {
        const size_t some_random = 6;
        std::vector<size_t> impossible; // where the layer refuses a combination of optional ports
        const size_t pairs = menu_.choices * weight_types_.turns(); // of a choice and a dtype
        for (size_t i = 0; i < std::max({options_.count, menu_.combinations.size() + some_random, pairs}); ++i)
            if (!add_drawn(i, i)) impossible.push_back(i);
        for (const std::string &name : free_dims()) {
            add_large(name, name == "B" ? large_batches : long_sizes);
            if (!menu_.columns.contains(name)) continue;
            if (menu_.matrices.contains(name))
                add_large(name, wide_sizes, large_batch);
            else
                add_large(name, longest_sizes);
        }
        add_hard_values();
        for (const lamina_param &p : std::span(contract_.params, contract_.n_params))
            if (p.kind == LAMINA_INT && p.follows == nullptr && menu_.factors.contains(p.name)) add_many(p);
        for (const lamina_port &p : std::span(contract_.inputs, contract_.n_inputs))
            if (p.dtypes != LAMINA_I32) add_spread(p.name);
        // Their choices and dtypes have to meet all the same.
        for (const size_t i : impossible) (void)add_drawn(i, menu_.combinations.size());
        return std::move(out_);
    }

    std::map<std::string, Case> small() {
        std::map<std::string, Case> out;
        for (const std::string &name : free_dims())
            for (int attempt = 0; attempt < few_draws && !out.contains(name); ++attempt) {
                Case c = draw(attempt == 0 ? 1 : random_.below(draws)); // with all optional ports, if that is possible
                shrink(c);
                c.weights = DType::f32;
                c.dims[name] = 40;
                if (accept(c, options_.work)) out[name] = std::move(c);
            }
        return out;
    }

  private:
    // The dims that may have any size.
    [[nodiscard]] std::set<std::string> free_dims() const {
        std::set<std::string> out = menu_.dims;
        if (menu_.ellipsis) out.insert({"B", "T"});
        for (const std::string &name : menu_.factors) out.erase(name);
        return out;
    }

    // Inputs with the values that kernels get wrong: each real-valued one once so large that exp overflows and once the
    // same everywhere, so that all is tied; and all indices at the ends of their ranges, and on every value of them.
    void add_hard_values() {
        for (const lamina_port &p : std::span(contract_.inputs, contract_.n_inputs))
            if (p.dtypes != LAMINA_I32)
                for (const Values values : {Values::overflow, Values::equal}) add_case_with(values, {p.name});
        if (const std::vector<std::string> indices = index_inputs(); !indices.empty())
            for (const Values values : {Values::zeros, Values::max, Values::every}) add_case_with(values, indices);
    }

    [[nodiscard]] std::vector<std::string> index_inputs() const {
        std::vector<std::string> out;
        for (const lamina_port &p : std::span(contract_.inputs, contract_.n_inputs))
            if (p.dtypes == LAMINA_I32) out.emplace_back(p.name);
        return out;
    }

    // A small case in which some of the ports have these values, and, if the range of indices allows it, all of them.
    void add_case_with(Values values, const std::vector<std::string> &ports) {
        std::optional<Case> found;
        for (int attempt = 0; attempt < few_draws; ++attempt) {
            Case c = draw(menu_.combinations.size() + random_.below(draws));
            give(c, values, ports);
            if (!accept(c, most_work_of_hard)) continue;
            found = std::move(c);
            if (values != Values::every || reaches_all(call_of(layer_, *found))) break;
        }
        if (found) out_.cases.push_back(std::move(*found));
    }

    // A small case with all states, if there are any, and these as halves where they may be, because what a state keeps
    // has other limits than floats.
    void add_spread(const std::string &port) {
        const std::vector<size_t> &with_states = menu_.with_states;
        for (size_t attempt = 0; attempt < 10 * draws; ++attempt) { // few have all that states need
            Case c = draw(with_states.empty() ? menu_.combinations.size() + attempt
                                              : with_states[attempt % with_states.size()]);
            give(c, Values::spread, {port});
            if (random_.below(2) == 1) make_equal(c);
            for (const lamina_port &p : std::span(contract_.states, contract_.n_states))
                if ((p.dtypes & LAMINA_F16) != 0 && is_given(c, p.name)) c.dtypes[p.name] = DType::f16;
            if (!accept(c, most_work_of_hard)) continue;
            out_.cases.push_back(std::move(c));
            return;
        }
    }

    // Gives all sizes but the batch and those in products the same value, because layers with states refuse most
    // others.
    void make_equal(Case &c) const {
        const int64_t size = *std::ranges::max_element(small_sizes);
        for (auto &[dim, its] : c.dims)
            if (dim != "B" && !menu_.factors.contains(dim)) its = size;
        fill_blocks(contract_, c);
    }

    // At least one of the ports is given.
    void give(Case &c, Values values, const std::vector<std::string> &ports) {
        const auto missing = [&](const std::string &port) { return !is_given(c, port); };
        if (std::ranges::all_of(ports, missing)) c.given.insert(ports[random_.below(ports.size())]);
        for (const std::string &port : ports)
            if (is_given(c, port)) c.values[port] = values;
    }

    // Whether each given input has at least as many indices as they have values, unless these are too many.
    [[nodiscard]] bool reaches_all(const abi::LayerCall &call) const {
        for (uint32_t i = 0; i < contract_.n_inputs; ++i)
            if (const auto range = call.values(abi::PortList::in, i))
                if (const int64_t width = range->second - range->first; width <= wide_range)
                    if (element_count(call.types(abi::PortList::in)[i].shape) < width) return false;
        return true;
    }

    // A case with many heads, experts or the like, all of which indices reach, and small dims.
    void add_many(const lamina_param &p) {
        for (int attempt = 0; attempt < few_draws; ++attempt) {
            Case c = draw(out_.cases.size());
            shrink(c);
            c.params[p.name] = std::clamp(static_cast<double>(pick(many, random_)), p.min, p.max);
            for (const std::string &port : index_inputs())
                if (is_given(c, port)) c.values[port] = Values::every;
            if (!index_inputs().empty() && c.dims.contains("T")) c.dims["T"] = many.back(); // all are reached
            if (!accept(c, options_.work)) continue;
            out_.cases.push_back(std::move(c));
            return;
        }
    }

    void shrink(Case &c) {
        c.axes.clear();
        for (auto &[dim, size] : c.dims) size = std::min(size, pick(small_sizes, random_));
    }

    // A case with one large dim and small others, if the layer accepts one.
    void add_large(const std::string &name, const std::array<int64_t, 3> &from, int64_t batch = 0) {
        for (int attempt = 0; attempt < few_draws; ++attempt) {
            Case c = draw(out_.cases.size());
            shrink(c);
            if (!c.dims.contains(name) && name != "B" && name != "T") continue; // another port stands in
            c.dims[name] = pick(from, random_);
            if (batch != 0) c.dims["B"] = batch;
            fill_blocks(contract_, c);
            if (!accept(c, most_work_of_large)) continue;
            const abi::LayerCall call = call_of(layer_, c);
            if (values_of(call) > most_values_of_large) continue;
            if (from[0] >= wide_sizes[0] && !has_large_input(call)) continue;
            if (call.by_rows() && work_of(call) > options_.work) c.sample = 64;
            out_.cases.push_back(std::move(c));
            return;
        }
    }

    static bool has_large_input(const abi::LayerCall &call) {
        return std::ranges::any_of(call.types(abi::PortList::in), [](const TensorType &t) {
            return !t.shape.empty() && element_count(t.shape) > large_tensor;
        });
    }

    // Whether every device can bind the outputs, which may be far larger than all that they follow from.
    static bool outputs_fit(const abi::LayerCall &call) {
        constexpr int64_t most_values = 1 << 25; // 128 MiB
        return std::ranges::all_of(call.types(abi::PortList::out), [](const TensorType &t) {
            return t.shape.empty() || element_count(t.shape) <= most_values;
        });
    }

    bool accept(const Case &c, double most_work, double (*work)(const abi::LayerCall &) = work_of) {
        try {
            const abi::LayerCall call = call_of(layer_, c);
            for (uint32_t i = 0; i < contract_.n_inputs; ++i)
                if (const auto range = call.values(abi::PortList::in, i); range && range->first >= range->second)
                    return ++out_.refused, false;
            if (work(call) <= most_work && outputs_fit(call)) return true;
            ++out_.too_large;
        } catch (const Error &e) {
            if (e.code() != ErrorCode::input) throw; // the contract is wrong, not this draw
            ++out_.refused;
        }
        return false;
    }

    [[nodiscard]] bool is_given(const Case &c, const std::string &port) const {
        return c.given.contains(port) ||
               std::find(menu_.optional.begin(), menu_.optional.end(), port) == menu_.optional.end();
    }

    [[nodiscard]] bool is_real(const std::string &param) const {
        return std::any_of(contract_.params, contract_.params + contract_.n_params, [&](const lamina_param &p) {
            return p.name == param && p.kind == LAMINA_REAL && (p.flags & LAMINA_REQUIRED) == 0;
        });
    }

    // False: no draw is accepted. A number beyond the combinations stands for any of them.
    bool add_drawn(size_t number, size_t combination) {
        for (int attempt = 0; attempt < draws; ++attempt)
            if (Case c = draw(number, combination); accept(c, options_.work)) {
                out_.cases.push_back(std::move(c));
                return true;
            }
        return false;
    }

    Case draw(size_t number) { return draw(number, number); }
    Case draw(size_t number, size_t combination) {
        Case c;
        c.seed = random_.below(1'000'000);
        c.weights = weight_types_.of_case(number);
        draw_params(c, number);
        draw_dims(c);
        draw_ports(c, combination);
        for (const lamina_port &p : std::span(contract_.weights, contract_.n_weights))
            if (random_.below(6) == 0 && is_given(c, p.name) && weight_dtype(p, c) != DType::f32)
                c.dtypes[p.name] = DType::f32;
        for (const lamina_port &p : std::span(contract_.states, contract_.n_states))
            if (const std::vector<DType> taken = state_dtypes(p); taken.size() > 1 && is_given(c, p.name))
                if (const DType dtype = taken[random_.below(taken.size())]; dtype != DType::f32)
                    c.dtypes[p.name] = dtype;
        fill_blocks(contract_, c);
        for (const auto &[port, hard] : menu_.values)
            if (!hard.empty() && random_.below(6) == 0 && is_given(c, port))
                c.values[port] = hard[random_.below(hard.size())];
        // What comes near to 0 on the way may be 0 in one arithmetic and not in another, and 0 times infinity is no
        // number.
        if (std::ranges::any_of(c.values, [](const auto &each) { return each.second == Values::infinite; })) {
            std::erase_if(c.values, [](const auto &each) { return each.second != Values::infinite; });
            std::erase_if(c.params, [&](const auto &each) { return is_real(each.first); });
        }
        for (const auto &[port, usual] : menu_.usual)
            if (is_given(c, port)) c.values.emplace(port, usual);
        return c;
    }

    void draw_params(Case &c, size_t number) {
        std::map<std::string_view, int64_t> whole;
        for (const lamina_param &p : std::span(contract_.params, contract_.n_params)) {
            const bool wanted = (p.flags & LAMINA_REQUIRED) != 0 || random_.below(2) == 0;
            if (p.kind == LAMINA_CHOICE) {
                const std::vector<std::string> choices = split(p.choices, '|');
                // Every round of dtypes begins one choice further on, so that each choice meets each dtype.
                const size_t turns = weight_types_.turns();
                c.params[p.name] = choices[(number % turns + number / turns) % choices.size()];
            } else if (p.kind == LAMINA_BOOL) {
                c.params[p.name] = random_.below(2) == 1;
            } else if (p.kind == LAMINA_INT) {
                whole[p.name] = p.follows != nullptr ? whole[p.follows] : static_cast<int64_t>(p.dflt);
                if (!wanted) continue;
                whole[p.name] = p.follows != nullptr ? divisor(whole[p.follows]) : whole_number(p);
                c.params[p.name] = static_cast<double>(whole[p.name]);
            } else if (wanted) {
                // In thousandths, to keep the text short. The ends of the range are left to the author's own cases.
                const double low = std::max(p.min, -4.0), high = std::min(p.max, 4.0);
                c.params[p.name] = random_.below(8) == 0 && low <= 0
                                       ? 0.0
                                       : low + (high - low) * static_cast<double>(1 + random_.below(999)) / 1000;
            }
        }
    }

    int64_t whole_number(const lamina_param &p) {
        const int64_t n = menu_.factors.contains(p.name) ? pick(counts, random_) : size();
        return static_cast<int64_t>(std::clamp(static_cast<double>(n), p.min, p.max));
    }

    int64_t size() {
        return options_.large && random_.below(8) == 0 ? pick(large_sizes, random_) : pick(sizes, random_);
    }

    int64_t divisor(int64_t n) {
        std::vector<int64_t> divisors;
        for (int64_t d = 1; d <= n; ++d)
            if (n % d == 0) divisors.push_back(d);
        return divisors.empty() ? n : divisors[random_.below(divisors.size())];
    }

    void draw_dims(Case &c) {
        for (const std::string &name : menu_.dims)
            c.dims[name] = name == "B"                    ? pick(batches, random_)
                           : menu_.factors.contains(name) ? pick(head_dims, random_)
                                                          : size();
        if (!menu_.ellipsis) return;
        if (random_.below(6) == 0) c.axes = {pick(batches, random_), pick(counts, random_), size()};
        if (!c.axes.empty()) return;
        if (random_.below(4) != 0) c.dims["T"] = size();
        if (random_.below(4) != 0) c.dims["B"] = pick(batches, random_);
    }

    void draw_ports(Case &c, size_t number) {
        if (number < menu_.combinations.size())
            c.given = menu_.combinations[number];
        else
            for (const std::string &port : menu_.optional)
                if (random_.below(2) == 0) c.given.insert(port);
        drop_what_stands_in(c);
    }

    // If a port is left out and another stands in for it, the names of its axes get the sizes of that one.
    void drop_what_stands_in(Case &c) const {
        for (const auto ports :
             {std::span(contract_.inputs, contract_.n_inputs), std::span(contract_.weights, contract_.n_weights)})
            for (const lamina_port &port : ports)
                if (port.follows != nullptr && !c.given.contains(port.name))
                    for (const std::string &name : abi::names_in(port.dims))
                        if (!named_before(ports, port, name)) c.dims.erase(name);
    }

    static bool named_before(std::span<const lamina_port> ports, const lamina_port &port, const std::string &name) {
        for (const lamina_port &earlier : ports) {
            if (&earlier == &port) return false;
            const std::vector<std::string> names = abi::names_in(earlier.dims);
            if (std::find(names.begin(), names.end(), name) != names.end()) return true;
        }
        return false;
    }

    static std::vector<std::string> split(const std::string &text, char separator) {
        std::istringstream in(text);
        std::vector<std::string> out;
        for (std::string part; std::getline(in, part, separator);) out.push_back(part);
        return out;
    }

    const abi::Layer &layer_;
    const lamina_layer &contract_;
    const GeneratorOptions options_;
    const Menu menu_;
    const WeightTypes weight_types_;
    Random random_;
    GeneratedCases out_;
};

} // namespace

GeneratedCases generate_cases(const abi::Layer &layer, const GeneratorOptions &options) {
    return Generator(layer, options).run();
}

std::map<std::string, Case> small_cases(const abi::Layer &layer, uint64_t seed) {
    GeneratorOptions options;
    options.seed = seed;
    return Generator(layer, options).small();
}

} // namespace lamina::conformance
