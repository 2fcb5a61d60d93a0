#include "mutation.hpp"

#include "base/storage.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

namespace lamina::conformance {
namespace {

using Results = std::vector<Tensor>;
constexpr lamina_tolerance rounding{1e-6, 0, LAMINA_F32, 0};

// A result seen as rows; halves are widened.
struct Rows {
    std::span<float> values;
    size_t columns;
    bool halves;
    [[nodiscard]] size_t count() const { return values.size() / columns; }
    [[nodiscard]] std::span<float> operator[](size_t row) const { return values.subspan(row * columns, columns); }
    [[nodiscard]] std::span<float> last() const { return (*this)[count() - 1]; }
};

struct ResultMutation {
    const char *name;
    std::function<void(const Rows &, const lamina_tolerance &)> apply;
    bool moves_rows = false; // which changes nothing where right rows agree with each other
};

void shift_rows(const Rows &rows) {
    for (size_t r = rows.count(); r-- > 1;) std::ranges::copy(rows[r - 1], rows[r].begin());
}

void swap_column_blocks(const Rows &rows) {
    const size_t width = std::min<size_t>(16, rows.columns / 2);
    for (size_t r = 0; r < rows.count(); ++r)
        std::swap_ranges(rows[r].begin(), rows[r].begin() + static_cast<std::ptrdiff_t>(width),
                         rows[r].end() - static_cast<std::ptrdiff_t>(width));
}

// In the middle of the last row, where tiles end.
float &some_element(const Rows &rows) { return rows.last()[rows.columns / 2]; }

void push_element(const Rows &rows, const lamina_tolerance &tolerance) {
    double largest = 0;
    for (const float v : rows.last()) largest = std::max(largest, std::abs(static_cast<double>(v)));
    float &element = some_element(rows);
    const double half_step = rows.halves ? std::abs(static_cast<double>(element)) / 1024 : 0; // less is rounded off
    const double off = std::max(10 * (tolerance.rtol * largest + tolerance.atol), half_step);
    element = off == 0 ? std::nextafter(element, std::numeric_limits<float>::max()) : static_cast<float>(element + off);
}

constexpr const char *scaled = "scaled by 1 + 10 rtol";

const std::vector<ResultMutation> &result_mutations() {
    static const std::vector<ResultMutation> all{
        {"all zeros", [](const Rows &r, const auto &) { std::ranges::fill(r.values, 0.0F); }},
        {"the last row never written", [](const Rows &r, const auto &) { std::ranges::fill(r.last(), std::nanf("")); }},
        {"the last row left from the one before",
         [](const Rows &r, const auto &) {
             if (r.count() > 1) std::ranges::copy(r[r.count() - 2], r.last().begin());
         },
         true},
        {"every row shifted by one", [](const Rows &r, const auto &) { shift_rows(r); }, true},
        {"the last 16 columns zero",
         [](const Rows &r, const auto &) {
             for (size_t row = 0; row < r.count(); ++row)
                 std::ranges::fill(r[row].last(std::min<size_t>(16, r.columns)), 0.0F);
         }},
        {"two blocks of columns swapped", [](const Rows &r, const auto &) { swap_column_blocks(r); }},
        {"the sign of a row turned",
         [](const Rows &r, const auto &) { std::ranges::transform(r.last(), r.last().begin(), std::negate<>()); }},
        {scaled,
         [](const Rows &r, const auto &t) {
             for (float &v : r.values) v = static_cast<float>(v * (1 + 10 * t.rtol));
         }},
        {"one element off by ten times the tolerance", push_element},
        {"one NaN", [](const Rows &r, const auto &) { some_element(r) = std::nanf(""); }},
        {"one infinity", [](const Rows &r, const auto &) { some_element(r) = std::numeric_limits<float>::infinity(); }},
    };
    return all;
}

class Trial {
  public:
    Trial(const std::shared_ptr<const abi::Registry> &plugins, const abi::Layer &layer, const Case &c,
          const Computer &computer)
        : computer_(computer), layer_(layer), contract_(*layer.contract), case_(c), graph_(make_case_graph(layer, c)),
          expected_(reference_of(plugins, graph_, {})), found_(computer.exact ? expected_ : computer.compute(graph_)),
          tolerance_(tolerance_of(contract_, contract_.variants[0].arithmetic)),
          rounding_(computer.exact ? rounding : doubled(tolerance_)) {}

    std::vector<MutationResult> run() {
        for (const ResultMutation &mutation : result_mutations())
            for (size_t r = 0; r < found_.size(); ++r) {
                const DType dtype = found_[r].dtype();
                if (dtype != DType::f32 && dtype != DType::f16) continue; // only floats are mutated
                // Differences of nearly equal values: rounding changes them by as much.
                if (is_margin(r) && std::string_view(mutation.name) == scaled) continue;
                Tensor wide = widened(found_[r]);
                mutation.apply({wide.f32(), static_cast<size_t>(wide.shape().back()), dtype == DType::f16}, tolerance_);
                Results wrong = found_;
                wrong[r] = narrowed(wide, dtype);
                judge(mutation.name + where(r), wrong,
                      mutation.moves_rows ? (computer_.exact ? tolerance_ : rounding_)
                                          : lamina_tolerance{0, 0, LAMINA_F32, 0});
            }
        leave_out_ports();
        turn_params();
        shift_indices();
        swap_halves();
        return std::move(out_);
    }

  private:
    [[nodiscard]] bool is_margin(size_t result) const {
        return result < contract_.n_outputs && (contract_.outputs[result].flags & LAMINA_MARGIN) != 0;
    }
    [[nodiscard]] std::string where(size_t result) const {
        const plan::PlannedTensor &tensor = graph_.plan.tensors[static_cast<size_t>(graph_.results[result])];
        if (tensor.kind != plan::PlannedTensor::Kind::state) return "";
        return found_[result].dtype() == DType::f16 ? ", in a state of halves" : ", in a state";
    }

    static lamina_tolerance doubled(lamina_tolerance t) { return {2 * t.rtol, 2 * t.atol, t.arithmetic, 0}; }

    static Verdict verdict_on(const Results &results, const Results &right, const lamina_tolerance &tolerance) {
        Verdict verdict;
        for (size_t i = 0; i < results.size(); ++i)
            add(verdict, compare(results[i], right[i], tolerance, std::to_string(i)));
        return verdict;
    }

    // A change of at most `negligible` does not count as one.
    void judge(const std::string &name, const Results &wrong, const lamina_tolerance &negligible) {
        MutationResult result{name, MutationResult::Outcome::unchanged, verdict_on(wrong, expected_, tolerance_)};
        if (!verdict_on(wrong, found_, negligible).passed)
            result.outcome = result.verdict.passed ? MutationResult::Outcome::missed : MutationResult::Outcome::caught;
        out_.push_back(std::move(result));
    }

    // The results of a wrong layer, if its inputs and outputs have the same shapes.
    void judge_case(const std::string &name, const Case &wrong) {
        try {
            const CaseGraph graph = make_case_graph(layer_, wrong);
            if (graph.results.size() != graph_.results.size()) return;
            const Results results = computer_.compute(graph);
            for (size_t i = 0; i < results.size(); ++i)
                if (results[i].type() != expected_[i].type()) return;
            judge(name, results, rounding_);
        } catch (const Error &) {
            return; // the layer refuses the case, so this mistake cannot go unnoticed
        }
    }

    void leave_out_ports() {
        for (const std::string &port : case_.given) {
            Case wrong = case_;
            wrong.given.erase(port);
            judge_case("'" + port + "' left out", wrong);
        }
    }

    void turn_params() {
        for (uint32_t i = 0; i < contract_.n_params; ++i) {
            const lamina_param &p = contract_.params[i];
            const auto value = static_cast<size_t>(graph_.plan.steps.front().call.params()[i]);
            Case wrong = case_;
            if (p.kind == LAMINA_BOOL)
                wrong.params[p.name] = value == 0;
            else if (p.kind == LAMINA_CHOICE)
                wrong.params[p.name] = other_choice(p.choices, value);
            else
                continue;
            judge_case(std::string("another '") + p.name + "'", wrong);
        }
    }

    // The first of the others, since neighbours may differ by little: gelu and gelu_tanh.
    static std::string other_choice(const std::string &choices, size_t index) {
        std::vector<std::string> all;
        for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
            end = choices.find('|', begin);
            all.push_back(choices.substr(begin, end - begin));
        }
        return all[index == 0 ? 1 : 0];
    }

    void shift_indices() {
        const plan::Step &step = graph_.plan.steps.front();
        for (uint32_t i = 0; i < contract_.n_inputs; ++i) {
            const int32_t tensor = step.in[i];
            const auto range = step.call.values(abi::PortList::in, i);
            if (tensor == plan::none || !range || graph_.values.at(tensor).dtype() != DType::i32) continue;
            CaseGraph wrong = graph_;
            for (int32_t &v : wrong.values.at(tensor).i32())
                v = static_cast<int32_t>(v + 1 < range->second ? v + 1 : range->first);
            judge(std::string("'") + contract_.inputs[i].name + "' off by one", computer_.compute(wrong), rounding_);
        }
    }

    void swap_halves() {
        for (const auto &[name, entry] : graph_.weights.entries()) {
            if (entry.type.shape.size() < 2 || entry.type.shape[0] % 2 != 0) continue;
            std::map<std::string, Tensor, std::less<>> weights;
            for (const auto &[other, e] : graph_.weights.entries()) {
                Tensor &copy = weights[other] = Tensor(e.type);
                std::ranges::copy(e.bytes(), copy.bytes().begin());
            }
            const std::span<std::byte> bytes = weights.at(name).bytes();
            std::swap_ranges(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2),
                             bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2));
            CaseGraph wrong = graph_;
            wrong.weights = model::Weights::of(std::move(weights));
            judge("halves of '" + name + "' swapped", computer_.compute(wrong), rounding_);
        }
    }

    const Computer &computer_;
    const abi::Layer &layer_;
    const lamina_layer &contract_;
    const Case &case_;
    const CaseGraph graph_;
    const Results expected_, found_; // by the reference, by the computer
    const lamina_tolerance tolerance_, rounding_;
    std::vector<MutationResult> out_;
};

} // namespace

std::vector<MutationResult> try_mutations(const std::shared_ptr<const abi::Registry> &plugins, const abi::Layer &layer,
                                          const Case &c, const Computer &computer) {
    return Trial(plugins, layer, c, computer).run();
}

std::vector<MutationResult> try_mutations(const std::shared_ptr<const abi::Registry> &plugins, const abi::Layer &layer,
                                          const Case &c) {
    return try_mutations(plugins, layer, c,
                         {[&](const CaseGraph &graph) { return reference_of(plugins, graph, {}); }, true});
}

bool gives_floats(const abi::Layer &layer) {
    return std::ranges::any_of(std::span(layer.contract->outputs, layer.contract->n_outputs),
                               [](const lamina_port &p) { return (p.dtypes & LAMINA_F32) != 0; });
}

} // namespace lamina::conformance
