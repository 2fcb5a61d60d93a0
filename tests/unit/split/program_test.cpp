// A model on two devices computes what it does on one: here both are the CPU, so the bits are the same.
#include "catch.hpp"
#include "cpu/backend.hpp"
#include "places.hpp"
#include "split/backend.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

using namespace lamina;

namespace {

struct Subject {
    std::shared_ptr<const abi::Registry> plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    std::shared_ptr<const model::Model> model = model::Model::load(LAMINA_SOURCE_DIR "/models/g2p");
    std::vector<std::unique_ptr<plan::Backend>> devices;
    std::unique_ptr<split::SplitBackend> backend;

    explicit Subject(const std::vector<size_t> &counts) {
        std::vector<plan::Backend *> pointers;
        for (size_t i = 0; i < counts.size(); ++i) {
            devices.push_back(cpu::make_backend(plugins, model->weights, plugins->executor()));
            pointers.push_back(devices.back().get());
        }
        split::Layers layers = split::layers_of(*model, *plugins, DType::f32);
        split::Division division = split::divide(layers, counts, counts.size());
        backend = std::make_unique<split::SplitBackend>(pointers, std::move(layers), std::move(division),
                                                        std::make_shared<split::FlowTurns>());
    }
    [[nodiscard]] plan::GraphPlan encode() const { return plan_of("encode", 5, 0, false); }
    // `length` tokens of three rows; caches of 40.
    [[nodiscard]] plan::GraphPlan decode(int64_t length, bool states_only, int64_t capacity = 40) const {
        return plan_of("decode", length, capacity, states_only);
    }

  private:
    [[nodiscard]] plan::GraphPlan plan_of(const std::string &graph, int64_t length, int64_t capacity,
                                          bool states_only) const {
        plan::GraphShapes shapes;
        shapes.state_length = capacity;
        shapes.states_only = states_only;
        for (const model::GraphInput &input : model->graphs.at(graph).inputs) {
            Shape shape{3};
            if (input.dims.starts_with("B S")) shape.push_back(5);
            if (input.dims.starts_with("B T")) shape.push_back(length);
            if (input.dims.ends_with("160")) shape.push_back(160);
            shapes.inputs[input.name] = {input.dtype, shape};
        }
        return plan::plan_graph(*model, model->graphs.at(graph), *plugins, shapes);
    }
};

// Values that fit any input of the model.
void write(plan::Program &program, int32_t position) {
    for (const auto &[name, t] : program.plan().inputs) {
        Tensor value(program.plan().tensors[static_cast<size_t>(t)].type);
        if (value.dtype() == DType::f32)
            for (size_t i = 0; i < value.f32().size(); ++i) value.f32()[i] = static_cast<float>(i % 13) * 0.1F - 0.6F;
        else
            for (size_t i = 0; i < value.i32().size(); ++i) {
                const bool ids = value.shape().size() == 2;
                value.i32()[i] = ids ? static_cast<int32_t>(3 + i * 5 % 20) : name == "lengths" ? 5 : position;
            }
        program.write(t, value.bytes());
    }
}

using Results = std::map<std::string, std::vector<std::byte>>;

Results read(plan::Program &program, bool activations = false) {
    Results out;
    for (size_t t = 0; t < program.plan().tensors.size(); ++t) {
        const plan::PlannedTensor &tensor = program.plan().tensors[t];
        const bool wanted = tensor.kind == plan::PlannedTensor::Kind::state ||
                            (tensor.kind == plan::PlannedTensor::Kind::activation && (activations || tensor.output));
        if (!wanted) continue;
        std::vector<std::byte> &bytes = out[tensor.name];
        bytes.resize(tensor.type.bytes());
        program.read(static_cast<int32_t>(t), bytes);
    }
    return out;
}

const std::vector<std::vector<size_t>> divisions{{4, 4}, {1, 7}, {6, 2}, {8, 0}, {0, 8}, {2, 3, 3}, {1, 1, 1, 1, 4}};

// Two blocks of a prompt, whose rows then change places, and a step after them: once more than caches of this size
// hold, so that they grow before.
Results decoded(const Subject &subject, plan::Backend &backend, std::string &overrun) {
    plan::ProgramOptions options;
    options.guard = true;
    const auto block = backend.compile(subject.decode(8, true), options);
    for (const int32_t position : {0, 8, 16}) {
        write(*block, position);
        block->run(position == 16 ? std::vector<int32_t>{0, 0, 2} : std::vector<int32_t>{});
    }
    const auto step = backend.compile(subject.decode(1, false, 80), options);
    step->take_states(*block, std::vector<plan::SequenceCopy>{{0, 1}, {1, 0}, {2, 2}});
    write(*step, 24);
    step->run();
    overrun = block->overrun() + step->overrun();
    return read(*step);
}

} // namespace

TEST_CASE("split: every tensor of a graph is what it is on one device") {
    Subject one({8});
    plan::ProgramOptions options;
    options.keep_all = true;
    const auto whole = one.devices.front()->compile(one.encode(), options);
    write(*whole, 0);
    whole->run();
    for (const auto &counts : divisions) {
        Subject subject(counts);
        const auto program = subject.backend->compile(subject.encode(), options);
        write(*program, 0);
        program->run();
        CHECK(read(*program, true) == read(*whole, true));
        program->run(); // inputs stay
        CHECK(read(*program, true) == read(*whole, true));
        for (size_t s = 0; s < whole->plan().steps.size(); ++s) CHECK(program->variant(s) == whole->variant(s));
    }
}

TEST_CASE("split: a prompt in blocks that overlap, rows that move and caches that grow come out as on one device") {
    Subject one({8});
    std::string overrun;
    const Results expected = decoded(one, *one.devices.front(), overrun);
    for (const auto &counts : divisions) {
        Subject subject(counts);
        CHECK(decoded(subject, *subject.backend, overrun) == expected);
        CHECK(overrun.empty());
    }
}

// What the threads of two devices do: the second one waits in its first step until the first one has begun its next
// run.
class Overlap {
  public:
    explicit Overlap(size_t steps_of_first) : steps_(steps_of_first) {}

    void step() {
        std::unique_lock lock(mutex_);
        const size_t done = ++steps_done_[std::this_thread::get_id()];
        changed_.notify_all();
        if (first_ == std::thread::id()) first_ = std::this_thread::get_id();
        if (first_ == std::this_thread::get_id() || done != 1) return;
        seen_ = changed_.wait_for(lock, std::chrono::seconds(30), [&] { return steps_done_[first_] > steps_; });
    }
    [[nodiscard]] bool seen() const { return seen_; }

  private:
    size_t steps_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::thread::id, size_t> steps_done_;
    std::thread::id first_;
    bool seen_ = false;
};

TEST_CASE("split: while the second device has a block of a prompt, the first one has the next") {
    Subject subject({6, 2});
    const plan::GraphPlan graph = subject.decode(8, true);
    Overlap overlap(subject.backend->parts_of(graph).front().last);
    plan::ProgramOptions options;
    options.working = [&] { overlap.step(); };
    const auto block = subject.backend->compile(graph, options);
    for (const int32_t position : {0, 8}) write(*block, position), block->run();
    subject.backend->wait();
    CHECK(overlap.seen());
}

TEST_CASE("split: times of all devices are reported as those of one run") {
    Subject subject({5, 3});
    size_t runs = 0;
    plan::ProgramOptions options;
    options.timed = [&](const plan::Program &program, const plan::RunTimes &times) {
        ++runs;
        REQUIRE(times.dispatches.size() == program.plan().steps.size());
        for (size_t s = 0; s < times.dispatches.size(); ++s) {
            CHECK(times.dispatches[s].step == s);
            if (s != 0) CHECK(times.dispatches[s].begin >= times.dispatches[s - 1].begin);
            CHECK(times.dispatches[s].begin + times.dispatches[s].seconds <= times.seconds);
        }
    };
    const auto block = subject.backend->compile(subject.decode(8, true), options);
    for (const int32_t position : {0, 8, 16}) write(*block, position), block->run();
    subject.backend->wait();
    CHECK(runs == 3);
    const auto step = subject.backend->compile(subject.decode(1, false), options);
    write(*step, 24), step->run();
    CHECK(runs == 4);
}

TEST_CASE("split: an error on the way is thrown by whoever uses the devices next, and then they work") {
    Subject subject({4, 2, 2});
    plan::ProgramOptions options;
    bool fails = false;
    options.working = [&] {
        if (fails) throw Error(ErrorCode::failure, "stopped");
    };
    const auto block = subject.backend->compile(subject.decode(8, true), options);
    write(*block, 0), block->run();
    subject.backend->wait();
    fails = true;
    block->run();
    CHECK(message_of([&] { (void)subject.backend->compile(subject.encode(), {}); }) == "stopped");
    fails = false;
    block->run();
    CHECK_NOTHROW(subject.backend->wait());
}

TEST_CASE("split: what a graph needs is said for each device") {
    Subject subject({4, 4});
    const std::vector<plan::MemoryNeed> needs = subject.backend->need(subject.decode(1, false));
    REQUIRE(needs.size() == 1); // the decoder is on the second
    CHECK(needs[0].place == 1);
    CHECK(plan::total_bytes(needs[0].states) == 4u * 2 * 3 * 40 * 160 * 4);
    CHECK(subject.backend->need(subject.encode()).size() == 2);
}
