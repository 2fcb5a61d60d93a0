// Wrong kernels are caught on every driver: results are modified in all the ways in which kernels typically fail.
#include "catch.hpp"
#include "conformance/check.hpp"
#include "drivers.hpp"
#include "mutation.hpp"

#include <algorithm>
#include <set>
#include <span>

using namespace lamina;
using namespace lamina::conformance;

namespace {

// 0: without states; 1: with states of floats; 2: with states of halves.
int states_in(const abi::Layer &layer, const Case &c) {
    int most = 0;
    for (const lamina_port &p : std::span(layer.contract->states, layer.contract->n_states))
        if (c.given.contains(p.name)) most = std::max(most, state_dtype(p, c) == DType::f16 ? 2 : 1);
    return most;
}

// Few cases, because each wrong layer is compiled again. Zeros and tiny values are left out: atol would let any small
// error pass.
std::vector<Case> some_cases(const abi::Layer &layer) {
    CheckOptions options;
    options.own_cases_only = true;
    std::vector<Case> out;
    for (const Case &c : cases_of(layer, options).cases)
        if (c.values.empty() && (out.size() < 6 || states_in(layer, out.back()) < states_in(layer, c)))
            out.push_back(c);
    return out;
}

} // namespace

TEST_CASE("every kind of wrong result is caught on this driver, for every layer", "[driver][mutations]") {
    const auto driver = test::driver();
    if (!driver || driver->device == nullptr) return;
    const auto plugins = test::plugins();
    const auto device = test::device_of(*driver);
    const Computer kernel{[&](const CaseGraph &graph) {
                              plan::ProgramOptions options;
                              options.variants = {"baseline"};
                              const auto backend = device->backend(graph.weights);
                              const auto program = backend->compile(graph.plan, options);
                              write_values(*program, graph);
                              return run_case(*program, graph);
                          },
                          false};
    for (const auto &[id, layer] : plugins->layers()) {
        std::set<std::string> caught;
        for (const Case &c : some_cases(layer))
            for (const MutationResult &m : try_mutations(plugins, layer, c, kernel)) {
                INFO(id << " \"" << to_string(c) << "\": " << m.mutation);
                CHECK(m.outcome != MutationResult::Outcome::missed);
                if (m.outcome == MutationResult::Outcome::caught) caught.insert(m.mutation);
            }
        if (!gives_floats(layer)) continue;
        for (const char *mutation :
             {"all zeros", "the last row never written", "the last row left from the one before",
              "every row shifted by one", "the last 16 columns zero", "two blocks of columns swapped",
              "the sign of a row turned", "one element off by ten times the tolerance", "one NaN", "one infinity"}) {
            INFO(id << ": " << mutation);
            CHECK(caught.contains(mutation));
        }
        if (id == "attention")
            for (const char *mutation :
                 {"another 'causal'", "'key_lengths' off by one", "'score_bias' left out", "all zeros, in a state",
                  "the last row left from the one before, in a state", "one NaN, in a state",
                  "all zeros, in a state of halves", "the last row left from the one before, in a state of halves",
                  "one element off by ten times the tolerance, in a state of halves"}) {
                INFO(mutation);
                CHECK(caught.contains(mutation));
            }
    }
}
