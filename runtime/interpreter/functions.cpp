// The part of Decoder that reads the instructions of functions.
#include "interpreter/cooperative_matrix.hpp"
#include "interpreter/decoder.hpp"
#include "interpreter/instructions.hpp"
#include "interpreter/operations.hpp"
#include "interpreter/subgroup.hpp"

#include <spirv_cross/GLSL.std.450.h>
#include <spirv_cross/spirv.h>

#include <algorithm>

namespace lamina::interpreter {
namespace {

using Run = void (*)(Invocation &, const Instruction &);
struct MemoryAccess {
    Run load, store;
};

MemoryAccess access_to(uint32_t storage) {
    switch (storage) {
    case SpvStorageClassWorkgroup:
        return {load_shared, store_shared};
    case SpvStorageClassPushConstant:
        return {load_push, nullptr};
    case SpvStorageClassStorageBuffer:
    case SpvStorageClassUniform:
        return {load_buffer, store_buffer};
    default:
        return {load_local, store_local};
    }
}

uint32_t last(size_t size) { return static_cast<uint32_t>(size - 1); }

} // namespace

const std::map<uint32_t, Decoder::Handler> &Decoder::handlers() {
    static const std::map<uint32_t, Handler> all{
        {SpvOpName, &Decoder::name},
        {SpvOpMemberName, &Decoder::member_name},
        {SpvOpDecorate, &Decoder::decorate},
        {SpvOpMemberDecorate, &Decoder::decorate_member},
        {SpvOpEntryPoint, &Decoder::entry_point},
        {SpvOpExecutionMode, &Decoder::execution_mode},
        {SpvOpTypeVoid, &Decoder::type},
        {SpvOpTypeBool, &Decoder::type},
        {SpvOpTypeInt, &Decoder::type},
        {SpvOpTypeFloat, &Decoder::type},
        {SpvOpTypeVector, &Decoder::type},
        {SpvOpTypeArray, &Decoder::type},
        {SpvOpTypeRuntimeArray, &Decoder::type},
        {SpvOpTypeStruct, &Decoder::type},
        {SpvOpTypePointer, &Decoder::type},
        {SpvOpTypeFunction, &Decoder::type},
        {SpvOpConstant, &Decoder::constant},
        {SpvOpConstantTrue, &Decoder::constant},
        {SpvOpConstantFalse, &Decoder::constant},
        {SpvOpConstantNull, &Decoder::constant_null},
        {SpvOpConstantComposite, &Decoder::constant_composite},
        {SpvOpSpecConstant, &Decoder::spec_constant},
        {SpvOpSpecConstantTrue, &Decoder::spec_constant},
        {SpvOpSpecConstantFalse, &Decoder::spec_constant},
        {SpvOpSpecConstantComposite, &Decoder::constant_composite},
        {SpvOpSpecConstantOp, &Decoder::spec_constant_op},
        {SpvOpUndef, &Decoder::undefined},
        {SpvOpVariable, &Decoder::variable},
        {SpvOpFunction, &Decoder::function},
        {SpvOpFunctionParameter, &Decoder::parameter},
        {SpvOpLabel, &Decoder::label},
        {SpvOpLoopMerge, &Decoder::loop_merge},
        {SpvOpBranch, &Decoder::branch},
        {SpvOpBranchConditional, &Decoder::branch_if},
        {SpvOpSwitch, &Decoder::switch_to},
        {SpvOpPhi, &Decoder::phi},
        {SpvOpFunctionCall, &Decoder::call_function},
        {SpvOpReturn, &Decoder::return_from},
        {SpvOpReturnValue, &Decoder::return_from},
        {SpvOpUnreachable, &Decoder::unreachable},
        {SpvOpLoad, &Decoder::load},
        {SpvOpStore, &Decoder::store},
        {SpvOpAccessChain, &Decoder::chain},
        {SpvOpInBoundsAccessChain, &Decoder::chain},
        {SpvOpArrayLength, &Decoder::array_size},
        {SpvOpCompositeConstruct, &Decoder::construct},
        {SpvOpCompositeExtract, &Decoder::extract},
        {SpvOpCompositeInsert, &Decoder::insert},
        {SpvOpVectorShuffle, &Decoder::shuffle},
        {SpvOpVectorExtractDynamic, &Decoder::extract_by_index},
        {SpvOpVectorInsertDynamic, &Decoder::insert_by_index},
        {SpvOpBitcast, &Decoder::bitcast},
        {SpvOpExtInst, &Decoder::extended},
        {SpvOpControlBarrier, &Decoder::barrier},
        {SpvOpMemoryBarrier, &Decoder::memory_barrier},
        {op_type_cooperative_matrix, &Decoder::matrix_type},
        {op_cooperative_matrix_load, &Decoder::load_matrix},
        {op_cooperative_matrix_store, &Decoder::store_matrix},
        {op_cooperative_matrix_multiply_add, &Decoder::multiply_matrices},
        {op_cooperative_matrix_length, &Decoder::matrix_length},
    };
    return all;
}

Instruction &Decoder::emit(const Instruction &instruction) { return module_.code.emplace_back(instruction); }

void Decoder::compute(const Operation &operation, uint32_t type, uint32_t id, Words operands) {
    Instruction made{.run = operation.run};
    const std::array<uint32_t *, 3> registers{&made.a, &made.b, &made.c};
    for (size_t i = 0; i < operands.size() && i < registers.size(); ++i) *registers[i] = at(operands[i]);
    made.words = operation.by == Counted::operand ? type_of(operands[0]).words : module_.types[type].words;
    if (operation.by == Counted::half_result) made.words /= 2;
    made.result = define(type, id);
    emit(made);
    round_halves(id);
}

void Decoder::round_halves(uint32_t id) {
    if (!module_.types.is_of_halves(type_of_.at(id))) return;
    emit({.run = round_to_half, .result = at(id), .a = at(id), .words = type_of(id).words});
}

// Two numbers of 16 bits have the bits of one word.
void Decoder::bitcast(Words in) {
    const bool from_halves = module_.types.is_of_halves(type_of_.at(in[3])),
               to_halves = module_.types.is_of_halves(in[1]);
    const Operation *known = from_halves == to_halves ? operation(SpvOpBitcast)
                             : to_halves              ? extended_operation(GLSLstd450UnpackHalf2x16)
                                                      : extended_operation(GLSLstd450PackHalf2x16);
    compute(*known, in[1], in[2], in.subspan(3));
}

void Decoder::extended(Words in) {
    const Operation *known = extended_operation(in[4]);
    if (known == nullptr) throw Unknown("GLSL.std.450 instruction " + std::to_string(in[4]));
    compute(*known, in[1], in[2], in.subspan(5));
}

// ---- Control flow ----

uint32_t Decoder::number_of_function(uint32_t id) {
    const auto [known, is_new] = functions_.try_emplace(id, static_cast<uint32_t>(module_.functions.size()));
    if (is_new) module_.functions.emplace_back();
    return known->second;
}

void Decoder::function(Words in) {
    const uint32_t number = number_of_function(in[2]);
    Function &f = module_.functions[number];
    const std::string &name = module_.name_of(in[2]);
    f.name = name.substr(0, name.find('(')); // glslang's names end with the types of parameters
    f.begin = static_cast<uint32_t>(module_.code.size());
    f.local = f.local_end = static_cast<uint32_t>(module_.local.size());
    current_function_ = number;
    in_function_ = true;
    emit({.run = enter, .list = number});
}

void Decoder::parameter(Words in) {
    module_.functions[current_function_].parameters.push_back(define(in[1], in[2]));
    if (module_.types[in[1]].op == SpvOpTypePointer) roots_[in[2]] = in[2];
}

void Decoder::label(Words in) {
    block_ = in[1];
    labels_[block_] = static_cast<uint32_t>(module_.code.size());
}

void Decoder::loop_merge(Words in) {
    if ((in[3] & SpvLoopControlUnrollMask) != 0) unrolled_.insert(block_);
}

// What a jump to this block counts as, if it is a jump back.
uint32_t Decoder::rounds_of(uint32_t block) const { return unrolled_.contains(block) ? 0 : 1; }

void Decoder::branch(Words in) { emit({.run = jump, .a = in[1], .b = block_, .list = rounds_of(in[1])}); }

void Decoder::branch_if(Words in) {
    const uint32_t rounds = std::min(rounds_of(in[2]), rounds_of(in[3])); // one of them leaves the loop
    emit({.run = jump_if, .a = in[2], .b = block_, .c = at(in[1]), .words = in[3], .list = rounds});
}

void Decoder::switch_to(Words in) {
    Switch made{{}, in[2]};
    for (size_t i = 3; i + 1 < in.size(); i += 2) made.cases[in[i]] = in[i + 1];
    module_.switches.push_back(std::move(made));
    emit({.run = jump_by_value, .b = block_, .c = at(in[1]), .list = last(module_.switches.size())});
}

void Decoder::phi(Words in) {
    if (!phis_open_) {
        module_.phis.emplace_back();
        emit({.run = join, .list = last(module_.phis.size())});
        phis_open_ = true;
    }
    Phi made{define(in[1], in[2]), module_.types[in[1]].words, {}};
    for (size_t i = 3; i + 1 < in.size(); i += 2) made.from[in[i + 1]] = in[i];
    module_.phis.back().push_back(std::move(made));
}

void Decoder::call_function(Words in) {
    const uint32_t number = number_of_function(in[3]);
    module_.copies.emplace_back();
    pending_calls_.push_back({module_.copies.size() - 1, number, {in.begin() + 4, in.end()}});
    emit({.run = move_words, .list = last(module_.copies.size())});
    emit({.run = call, .result = define(in[1], in[2]), .list = number});
}

void Decoder::return_from(Words in) {
    const bool with_value = in.size() > 1;
    emit({.run = leave, .a = with_value ? at(in[1]) : 0, .words = with_value ? type_of(in[1]).words : 0});
}

void Decoder::unreachable(Words) { emit({.run = stop_at_unreachable}); }

// ---- Memory ----

uint32_t Decoder::binding_of(uint32_t pointer) const {
    if (access_to(type_of(pointer).storage).load != load_buffer) return 0;
    const auto variable = module_.variables.find(roots_.at(pointer));
    if (variable == module_.variables.end()) throw Unknown("a parameter that points into a buffer");
    return variable->second.binding;
}

uint32_t Decoder::part_of(uint32_t pointer) {
    module_.parts.push_back({roots_.at(pointer), module_.types.places(type_of(pointer).element)});
    return last(module_.parts.size());
}

void Decoder::load(Words in) {
    const uint32_t pointer = in[3];
    emit({.run = access_to(type_of(pointer).storage).load,
          .result = define(in[1], in[2]),
          .a = at(pointer),
          .b = binding_of(pointer),
          .words = module_.types[in[1]].words,
          .list = part_of(pointer)});
}

void Decoder::store(Words in) {
    const uint32_t pointer = in[1];
    const Run run = access_to(type_of(pointer).storage).store;
    if (run == nullptr) throw Unknown("a store to push constants");
    emit({.run = run,
          .a = at(pointer),
          .b = binding_of(pointer),
          .c = at(in[2]),
          .words = type_of(in[2]).words,
          .list = part_of(pointer)});
}

void Decoder::chain(Words in) {
    const uint32_t base = in[3];
    Chain made{roots_.at(base), type_of(base).element, {}};
    uint32_t type = made.type;
    for (const uint32_t index : in.subspan(4)) {
        const Type &t = module_.types[type];
        if (t.op == SpvOpTypeStruct) {
            const uint32_t member = value(index);
            made.steps.push_back({member, 0, t.offsets.at(member), true});
            type = t.members[member];
        } else {
            made.steps.push_back({at(index), t.count, t.stride, false});
            type = t.element;
        }
    }
    module_.chains.push_back(std::move(made));
    roots_[in[2]] = roots_.at(base);
    chains_[in[2]] = last(module_.chains.size());
    emit({.run = access_chain,
          .result = define(in[1], in[2]),
          .a = at(base),
          .b = binding_of(base),
          .list = last(module_.chains.size())});
}

void Decoder::array_size(Words in) {
    const Type &block = type_of(in[3]);
    const Type &type = module_.types[block.element];
    emit({.run = array_length,
          .result = define(in[1], in[2]),
          .a = type.offsets.at(in[4]),
          .b = binding_of(in[3]),
          .c = module_.types[type.members[in[4]]].stride});
}

// ---- Composites ----

void Decoder::move(uint32_t type, uint32_t id, std::vector<Copy> copies) {
    const uint32_t result = define(type, id);
    for (Copy &c : copies) c.to += result;
    module_.copies.push_back(std::move(copies));
    emit({.run = move_words, .list = last(module_.copies.size())});
}

std::pair<uint32_t, uint32_t> Decoder::part(uint32_t type, Words indices) const {
    uint32_t from = 0;
    for (const uint32_t index : indices) {
        const Type &t = module_.types[type];
        if (t.op == SpvOpTypeStruct) {
            for (uint32_t m = 0; m < index; ++m) from += module_.types[t.members.at(m)].words;
            type = t.members.at(index);
        } else {
            type = t.element;
            from += index * module_.types[type].words;
        }
    }
    return {from, type};
}

void Decoder::construct(Words in) {
    std::vector<Copy> copies;
    uint32_t to = 0;
    for (const uint32_t id : in.subspan(3)) {
        copies.push_back({to, at(id), type_of(id).words});
        to += type_of(id).words;
    }
    if (const Type &matrix = module_.types[in[1]]; matrix.rows != 0) // from one number, which is that of all elements
        for (; to < matrix.words; ++to) copies.push_back({to, at(in[3]), 1});
    move(in[1], in[2], std::move(copies));
}

void Decoder::extract(Words in) {
    const auto [from, type] = part(type_of_.at(in[3]), in.subspan(4));
    move(in[1], in[2], {{0, at(in[3]) + from, module_.types[type].words}});
}

void Decoder::insert(Words in) {
    const auto [to, type] = part(type_of_.at(in[4]), in.subspan(5));
    move(in[1], in[2], {{0, at(in[4]), type_of(in[4]).words}, {to, at(in[3]), module_.types[type].words}});
}

void Decoder::shuffle(Words in) {
    std::vector<Copy> copies;
    const uint32_t first = type_of(in[3]).words;
    for (uint32_t to = 0; to + 5 < in.size(); ++to) {
        const uint32_t from = in[to + 5];
        if (from != ~0u) copies.push_back({to, from < first ? at(in[3]) + from : at(in[4]) + from - first, 1});
    }
    move(in[1], in[2], std::move(copies));
}

void Decoder::extract_by_index(Words in) {
    const uint32_t words = type_of(in[3]).words;
    emit({.run = extract_dynamic, .result = define(in[1], in[2]), .a = at(in[3]), .b = at(in[4]), .words = words});
}

void Decoder::insert_by_index(Words in) {
    emit({.run = insert_dynamic,
          .result = define(in[1], in[2]),
          .a = at(in[3]),
          .b = at(in[4]),
          .c = at(in[5]),
          .words = type_of(in[3]).words});
}

// ---- With others ----

void Decoder::barrier(Words in) {
    module_.meetings.push_back({value(in[1]) == SpvScopeSubgroup, value(in[3]), nullptr});
    emit({.run = wait_for_others, .list = last(module_.meetings.size())});
}

void Decoder::memory_barrier(Words in) { emit({.run = flush, .a = value(in[2])}); }

void Decoder::of_subgroup(const SubgroupOperation &known, Words in) {
    Words operands = in.subspan(4); // after the scope
    if (known.reduces) {
        if (operands[0] != SpvGroupOperationReduce)
            throw Unknown("group operation " + std::to_string(operands[0]) + " of a subgroup");
        operands = operands.subspan(1);
    }
    Instruction made{.run = wait_for_others, .words = module_.types[in[1]].words};
    if (!operands.empty()) made.a = at(operands[0]);
    if (operands.size() > 1) made.b = at(operands[1]);
    made.result = define(in[1], in[2]);
    module_.meetings.push_back({true, 0, known.compute});
    made.list = last(module_.meetings.size());
    emit(made);
    round_halves(in[2]);
}

} // namespace lamina::interpreter
