// A program that a comparison runs step by step.
#pragma once

#include "conformance/values.hpp"
#include "plan/program.hpp"

#include <map>
#include <memory>
#include <utility>

namespace lamina::comparison {

// A program that is run step by step, with its own states. Programs of a backend share states by name, so they are set
// before every run. They begin with arbitrary numbers, as another text might leave them.
class Run {
  public:
    explicit Run(std::unique_ptr<plan::Program> program) : program_(std::move(program)) {
        const auto &tensors = program_->plan().tensors;
        for (size_t i = 0; i < tensors.size(); ++i)
            if (tensors[i].kind == plan::PlannedTensor::Kind::state)
                after_[static_cast<int32_t>(i)] = conformance::make_values(tensors[i].type, conformance::Values::normal,
                                                                           false, {}, 1, tensors[i].name);
        before_ = after_;
    }

    // Takes over the states that another program of the graph left.
    void continue_from(const Run &other) {
        for (auto &[t, state] : after_)
            state = other.read(other.plan().tensor(plan().tensors[static_cast<size_t>(t)].name));
    }
    // Continues from the states that the last step left. An input that is not given keeps its value.
    void step(const TensorMap &inputs) {
        for (const auto &[name, tensor] : inputs) program_->write(plan().inputs.at(name), tensor.bytes());
        run_from(after_);
    }
    // The last step once more.
    void again() { run_from(before_); }
    // Runs one layer on the inputs and states that it had in the last step of `whole`.
    void step_within(const Run &whole) {
        for (const auto &[name, index] : plan().inputs)
            program_->write(index, whole.read(whole.plan().tensor(name)).bytes());
        States states;
        for (const auto &[t, state] : before_)
            states[t] = whole.before(whole.plan().tensor(plan().tensors[static_cast<size_t>(t)].name));
        run_from(std::move(states));
    }

    [[nodiscard]] const plan::GraphPlan &plan() const { return program_->plan(); }
    [[nodiscard]] std::string variant(size_t step) const { return program_->variant(step); }
    // The value of a state before the last step.
    [[nodiscard]] const Tensor &before(int32_t state) const { return before_.at(state); }
    // Any tensor after the last step.
    [[nodiscard]] Tensor read(int32_t tensor) const {
        if (const auto state = after_.find(tensor); state != after_.end()) return state->second;
        return read_now(tensor);
    }

  private:
    using States = std::map<int32_t, Tensor>; // by tensor of the plan

    void run_from(States states) {
        before_ = std::move(states);
        for (const auto &[t, state] : before_) program_->write(t, state.bytes());
        program_->run();
        for (auto &[t, state] : after_) state = read_now(t);
    }
    [[nodiscard]] Tensor read_now(int32_t tensor) const {
        Tensor out(plan().tensors[static_cast<size_t>(tensor)].type);
        program_->read(tensor, out.bytes());
        return out;
    }

    std::unique_ptr<plan::Program> program_;
    States before_, after_; // the last step
};

} // namespace lamina::comparison
