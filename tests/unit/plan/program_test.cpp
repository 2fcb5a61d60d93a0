// The arguments that a program accepts on any device, and its memory.
#include "catch.hpp"
#include "plan/lifetimes.hpp"
#include "plan/program.hpp"
#include "plan/state_cache.hpp"

#include <algorithm>

using namespace lamina;
using namespace lamina::plan;
using Kind = PlannedTensor::Kind;

namespace {

enum Tensors : int32_t { x, matrix, hidden, y, cache };

GraphPlan graph() {
    GraphPlan plan{.graph = "main", .tensors = {}, .steps = {}, .inputs = {{"x", x}}, .outputs = {{"y", y}}};
    plan.tensors = {{"x", {DType::f32, {2, 3}}, Kind::input, false},
                    {"weight", {DType::f32, {3}}, Kind::weight, false},
                    {"hidden", {DType::f32, {2, 3}}, Kind::activation, false},
                    {"y", {DType::f32, {2, 3}}, Kind::activation, true},
                    {"cache", {DType::f32, {2, 4}}, Kind::state, false}};
    return plan;
}

// A device that does nothing but count its calls.
class Idle final : public Program {
  public:
    explicit Idle(bool keep_all = false) : Idle(ProgramOptions{.keep_all = keep_all}) {}
    explicit Idle(const ProgramOptions &options) : Program(graph(), options) {}
    explicit Idle(GraphPlan plan) : Program(std::move(plan), {}) {}
    [[nodiscard]] std::string overrun() override { return {}; }
    [[nodiscard]] std::string variant(size_t) const override { return {}; }
    int calls = 0;

  private:
    void set(int32_t, std::span<const std::byte>) override { ++calls; }
    void execute() override { ++calls; }
    void execute_timed(RunTimes &times) override {
        ++calls;
        times.dispatches.push_back({0, "kernel", 1, 2});
    }
    void get(int32_t, uint64_t, std::span<std::byte>) override { ++calls; }
    void copy_states(Program &, std::span<const StateCopy>) override { ++calls; }
};

void write(Program &program, int32_t tensor, size_t bytes) { program.write(tensor, std::vector<std::byte>(bytes)); }
void read(Program &program, int32_t tensor, size_t bytes) {
    std::vector<std::byte> out(bytes);
    program.read(tensor, out);
}
template <class Action> std::string refusal(const Action &action) {
    return message_of([&] { action(); });
}

} // namespace

TEST_CASE("a program checks its arguments before the device sees them") {
    Idle program;
    CHECK_THAT(refusal([&] { program.run(); }), matchers::contains("input 'x' of graph 'main' has not been given"));
    CHECK_THAT(refusal([&] { write(program, x, 20); }), matchers::contains("(2, 3), 24 bytes; found 20"));
    for (const int32_t tensor : {int32_t{hidden}, int32_t{y}})
        CHECK_THAT(refusal([&] { write(program, tensor, 24); }), matchers::contains("is not an input of graph 'main'"));
    CHECK_THAT(refusal([&] { write(program, matrix, 12); }), matchers::contains("'weight' is not an input"));
    CHECK_THAT(refusal([&] { read(program, y, 24); }), matchers::contains("has no value before the first run"));
    CHECK_THAT(refusal([&] { read(program, matrix, 12); }), matchers::contains("is a weight"));
    CHECK(program.calls == 0);
    write(program, x, 24);
    for (const std::vector<int32_t> &rows : {std::vector<int32_t>{0, 1, 1}, {0, 2}, {-1, 0}, {1, 0}})
        CHECK_THAT(refusal([&] { program.run(rows); }), matchers::contains("expected at most 2 rows"));
    CHECK(program.calls == 1);
}

TEST_CASE("after a run, inputs, outputs and states can be read, and with keep_all all activations") {
    Idle some, all(true);
    for (Idle *program : {&some, &all}) {
        read(*program, cache, 32); // a state has a value from the beginning
        write(*program, x, 24);
        write(*program, cache, 32);
        program->run();
        for (const int32_t tensor : {int32_t{x}, int32_t{y}}) read(*program, tensor, 24);
        program->run(std::vector<int32_t>{0, 1}); // nothing moves
        CHECK(program->calls == 7);
        program->run(std::vector<int32_t>{1, 1});
        CHECK(program->calls == 9);
    }
    read(all, hidden, 24);
    CHECK_THAT(refusal([&] { read(some, hidden, 24); }), matchers::contains("compile with keep_all"));
}

TEST_CASE(
    "states may have memory for more sequences than a program computes, with which programs share and move them") {
    GraphPlan of_two = graph(), of_all = graph();
    of_two.sequences = 8;
    of_all.tensors[cache].type.shape.front() = 8;
    CHECK(of_two.whole(of_two.tensors[cache]).shape == Shape{8, 4});
    CHECK(of_all.whole(of_all.tensors[cache]).shape == Shape{8, 4});
    Idle two(of_two), all(of_all), own;
    write(two, x, 24);
    two.run(std::vector<int32_t>{6, 1, 2, 3, 4, 5, 6, 7}); // of which six are not computed
    CHECK(two.calls == 3);
    CHECK_THAT(refusal([&] { two.run(std::vector<int32_t>{8, 1}); }), matchers::contains("expected at most 8 rows"));
    const SequenceCopy last{1, 7};
    two.take_states(all, {&last, 1}); // they are the same memory
    CHECK(two.calls == 3);
    two.take_states(own, {&last, 1});
    CHECK(two.calls == 4);
}

TEST_CASE("an entry of a tensor can be read alone") {
    Idle program;
    std::vector<std::byte> row(12);
    CHECK_THAT(refusal([&] { program.read_entry(y, 0, row); }),
               matchers::contains("has no value before the first run"));
    write(program, x, 24);
    program.run();
    const int before = program.calls;
    program.read_entry(y, 1, row);
    CHECK(program.calls == before + 1);
    for (const int64_t index : {-1, 2})
        CHECK_THAT(refusal([&] { program.read_entry(y, index, row); }),
                   matchers::contains("has 2 entries of 12 bytes; found 12 for entry " + std::to_string(index)));
    row.resize(24);
    CHECK_THAT(refusal([&] { program.read_entry(y, 0, row); }), matchers::contains("found 24 for entry 0"));
}

TEST_CASE(
    "tensors that are read after a run have their own memory; the others share one arena, unless there are guards") {
    const GraphPlan plan = [] {
        GraphPlan p = graph();
        p.tensors.push_back({"other", {DType::f32, {2, 3}}, Kind::activation, false});
        return p;
    }();
    const auto own = [&](const MemoryLayout &layout) {
        std::vector<std::string> names;
        for (const Block &block : layout.blocks)
            if (!block.at) names.push_back(block.name);
        return names;
    };
    CHECK(own(lay_out_memory(plan, {}, {}, 64)) == std::vector<std::string>{"'y'"});
    CHECK(own(lay_out_memory(plan, {}, {.keep_all = true}, 64)).size() == 3);
    const MemoryLayout shared = lay_out_memory(plan, {}, {}, 64),
                       guarded = lay_out_memory(plan, {}, {.guard = true}, 64);
    CHECK(shared.arena == 128); // two are alive at the same time
    CHECK(guarded.arena >= 2 * (24 + 2 * guard_bytes));
    for (const Block &block : guarded.blocks) CHECK(block.bytes == 32 + 2 * guard_bytes);
}

TEST_CASE("states are shared by name and size; of unused ones only the last requested stays") {
    StateCache<int> states;
    int made = 0;
    const auto get = [&](const char *name, uint64_t bytes) {
        const MemoryRequest request{name, bytes};
        return states
            .get({&request, 1},
                 [&](const std::vector<MemoryRequest> &missing) {
                     std::vector<int> out;
                     for (size_t i = 0; i < missing.size(); ++i) out.push_back(++made);
                     return out;
                 })
            .front();
    };
    const auto held = get("keys", 100);
    CHECK(get("keys", 100) == held);
    CHECK(get("values", 100) != held);
    (void)get("keys", 200);
    CHECK(get("keys", 100) == held); // because it is held
    const int before = made;
    CHECK(*get("keys", 200) == before + 1); // nobody held it, and another size was requested
    CHECK(*get("keys", 200) == before + 1);
}

TEST_CASE("a program that is timed reports every run when it is done") {
    std::vector<RunTimes> reported;
    ProgramOptions options;
    options.timed = [&](const Program &program, const RunTimes &times) {
        CHECK(program.plan().graph == "main");
        reported.push_back(times);
    };
    Idle program(options);
    write(program, x, 24);
    program.run();
    program.run();
    REQUIRE(reported.size() == 2);
    CHECK(reported[1].began >= reported[0].began);
    CHECK(reported[1].seconds >= 0);
    REQUIRE(reported[1].dispatches.size() == 1); // the device's times
    CHECK(reported[1].dispatches[0].kernel == "kernel");
}
