// Which rows of a large result are compared with the reference, and that the reference computes them alone.
#include "conformance/case_graph.hpp"
#include "conformance/sample.hpp"
#include "conformance/verdict.hpp"
#include "cpu/backend.hpp"

#include "catch.hpp"
#include "places.hpp"

#include <algorithm>
#include <cmath>

using namespace lamina;
using namespace lamina::conformance;

namespace {

const std::shared_ptr<const abi::Registry> &plugins() {
    static const auto registry = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    return registry;
}
CaseGraph graph_of(const char *id, std::string_view text) {
    const abi::Layer &layer = plugins()->layer(id);
    return make_case_graph(layer, parse_case(*layer.contract, text));
}
std::vector<int64_t> rows_of(std::string_view text) { return graph_of("softmax", text).rows; }

} // namespace

TEST_CASE("a sample has the first and last row, one of every batch entry, and both sides of powers of two") {
    const std::vector<int64_t> rows = rows_of("...=7x1000 C=3 sample=64");
    CHECK(rows.size() == 64);
    CHECK(std::ranges::is_sorted(rows));
    for (const int64_t r : {0, 6999, 999, 1999, 5999, 63, 64, 511, 512, 4095, 4096}) {
        INFO(r);
        CHECK(std::ranges::binary_search(rows, r));
    }
    CHECK(rows == rows_of("...=7x1000 C=3 sample=64 seed=9")); // the same for everyone who replays the case
    const std::vector<int64_t> sequence_first = rows_of("...=1000x7 C=3 sample=16"); // the batch is the second axis
    for (int64_t r = 6993; r < 7000; ++r) CHECK(std::ranges::binary_search(sequence_first, r));
    CHECK(rows_of("...=7x1000 C=3 sample=1") == std::vector<int64_t>{6999});
    CHECK(rows_of("...=2x2 C=3 sample=9") == std::vector<int64_t>{0, 1, 2, 3});
    CHECK(rows_of("...=2x2 C=3").empty()); // all are compared
}

TEST_CASE("a sample over several runs takes few of them, the first and the last before all others") {
    const abi::LayerCall call = graph_of("linear", "B=2 T=1 K=7 N=5").plan.steps.front().call;
    const auto runs = sample_of_runs(call, 32, 14);
    REQUIRE(runs.size() == 32);
    CHECK(std::ranges::count_if(runs, [](const auto &rows) { return !rows.empty(); }) == 7);
    for (const size_t run : {size_t{0}, size_t{15}, size_t{16}, size_t{31}}) {
        INFO(run);
        CHECK(runs[run] == std::vector<int64_t>{0, 1});
    }
    for (const auto &rows : sample_of_runs(call, 3, 100)) CHECK(rows == std::vector<int64_t>{0, 1});
    const abi::LayerCall block = graph_of("linear", "B=2 T=500 K=7 N=5").plan.steps.front().call;
    CHECK(sample_of_runs(block, 1, 9).front() == sample_of(block, 9));
}

TEST_CASE("a reference on several threads computes the same bits, and only the rows that are asked for") {
    for (const char *sample : {"", " sample=10"}) {
        const CaseGraph graph = graph_of("linear", std::string("B=100 K=301 N=65 +bias") + sample);
        plan::ProgramOptions options;
        options.poison = plan::poison_word;
        options.references = {.rows = graph.rows, .threads = 3, .give_back = true};
        const auto backend = cpu::make_backend(plugins(), graph.weights, nullptr);
        const auto program = backend->compile(graph.plan, options);
        write_values(*program, graph);
        CHECK(std::ranges::equal(run_case(*program, graph)[0].bytes(),
                                 reference_of(plugins(), graph, graph.rows)[0].bytes()));
    }
}

TEST_CASE("a reference can be stopped within a step, on any number of threads, and run again") {
    const CaseGraph graph = graph_of("linear", "B=1000 K=401 N=400");
    for (const size_t threads : {size_t{1}, size_t{3}}) {
        plan::ProgramOptions options;
        options.references.threads = threads, options.references.give_back = true;
        int calls = 0;
        options.working = [&] {
            if (++calls == 2) throw std::runtime_error("stopped"); // the first is for the step itself
        };
        const auto program = cpu::make_backend(plugins(), graph.weights, nullptr)->compile(graph.plan, options);
        write_values(*program, graph);
        CHECK_THROWS_WITH(program->run(), "stopped");
        CHECK(std::ranges::equal(run_case(*program, graph)[0].bytes(), reference_of(plugins(), graph, {})[0].bytes()));
    }
}

TEST_CASE("rows of a tensor take the place of another's") {
    Tensor to(TensorType{DType::f32, {2, 2, 3}}), from = to;
    std::ranges::fill(from.f32(), 1.0F);
    put_rows(from, std::vector<int64_t>{0, 3, 7}, to); // there is no row 7
    for (size_t i = 0; i < 12; ++i) CHECK(to.f32()[i] == (i < 3 || i >= 9 ? 1 : 0));
}

TEST_CASE("a reference computes a sample of rows and leaves the others alone") {
    const CaseGraph graph = graph_of("linear", "B=100 K=7 N=5 sample=10");
    const Tensor sampled = reference_of(plugins(), graph, graph.rows)[0], all = reference_of(plugins(), graph, {})[0];
    for (int64_t r = 0; r < 100; ++r) {
        const float got = sampled.f32()[static_cast<size_t>(r * 5)];
        if (std::ranges::binary_search(graph.rows, r))
            CHECK(got == all.f32()[static_cast<size_t>(r * 5)]);
        else
            CHECK(std::isnan(got));
    }
    CHECK_THAT(message_of([] { (void)graph_of("log_mel", "B=1 T=9 sample=4"); }), matchers::contains("by_rows"));
}

TEST_CASE("a difference is found only in the rows that are compared, and reported where it is") {
    Tensor right(TensorType{DType::f32, {4, 5, 2}});
    Tensor wrong = right;
    wrong.f32()[2 * 13 + 1] = 1;
    const lamina_tolerance exact{0, 0, LAMINA_F32, 0};
    CHECK(compare_rows(wrong, right, std::vector<int64_t>{0, 12, 19}, exact, "y").passed);
    const Verdict verdict = compare_rows(wrong, right, std::vector<int64_t>{0, 13, 19}, exact, "y");
    CHECK_FALSE(verdict.passed);
    CHECK(verdict.index == Shape{2, 3, 1});
    CHECK(verdict.compared == 6);
}
