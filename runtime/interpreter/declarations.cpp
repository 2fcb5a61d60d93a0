// The part of Decoder that reads what stands before the functions, and constants.
#include "interpreter/decoder.hpp"
#include "interpreter/instructions.hpp"
#include "interpreter/operations.hpp"
#include "interpreter/subgroup.hpp"

#include <lamina/plugin/single_values.hpp>

#include <spirv_cross/spirv.h>

#include <algorithm>
#include <bit>
#include <set>

namespace lamina::interpreter {
namespace {

constexpr size_t header = 5; // words before the first instruction

// They change nothing that a kernel computes here.
const std::set<uint32_t> without_effect{
    SpvOpNop,         SpvOpSource,          SpvOpSourceContinued, SpvOpSourceExtension, SpvOpString,
    SpvOpLine,        SpvOpNoLine,          SpvOpCapability,      SpvOpExtension,       SpvOpExtInstImport,
    SpvOpMemoryModel, SpvOpModuleProcessed, SpvOpSelectionMerge,  SpvOpFunctionEnd,
};

std::string text_at(Decoder::Words in, size_t word) {
    const auto *begin = reinterpret_cast<const char *>(in.data() + word);
    return {begin, std::find(begin, begin + (in.size() - word) * sizeof(uint32_t), '\0')};
}

} // namespace

Module::Module(std::span<const uint32_t> spirv, std::span<const lamina_spec> specs, uint32_t in_subgroup)
    : subgroup(in_subgroup) {
    try {
        Decoder decoder(*this, specs);
        for (size_t i = header; i < spirv.size();) {
            const size_t words = std::clamp<size_t>(spirv[i] >> 16u, 1, spirv.size() - i);
            decoder.decode(spirv.subspan(i, words));
            i += words;
        }
        decoder.finish();
    } catch (const std::out_of_range &) {
        throw Unknown("something that it does not declare");
    }
}

const std::string &Module::name_of(uint32_t variable) const {
    static const std::string nameless;
    const auto name = names.find(variable);
    return name == names.end() ? nameless : name->second;
}

const std::string &Module::function_at(uint32_t instruction) const {
    const Function *found = &functions.front();
    for (const Function &f : functions)
        if (f.begin <= instruction && f.begin >= found->begin) found = &f;
    return found->name;
}

std::string Module::shared_part(uint32_t word) const {
    for (const auto &[id, v] : variables)
        if (v.storage == SpvStorageClassWorkgroup && word >= v.place && word - v.place < v.words)
            return v.name + types.part(v.type, word - v.place);
    return "shared memory";
}

std::string Module::buffer_part(uint32_t variable, uint32_t word) const {
    const std::string part = name_of(variable) + types.part(variables.at(variable).type, word);
    return part.starts_with('.') ? part.substr(1) : part; // members of nameless blocks are like variables
}

Decoder::Decoder(Module &module, std::span<const lamina_spec> specs) : module_(module) {
    for (const lamina_spec &s : specs) specs_[s.id] = s.bits;
}

void Decoder::decode(Words in) {
    const uint32_t op = in[0] & 0xffffu;
    if (op != SpvOpPhi) phis_open_ = false;
    if (without_effect.contains(op)) return;
    if (const auto handler = handlers().find(op); handler != handlers().end()) return (this->*handler->second)(in);
    if (const SubgroupOperation *known = subgroup_operation(op)) return of_subgroup(*known, in);
    const Operation *known = operation(op);
    if (known == nullptr) throw Unknown("SPIR-V instruction " + std::to_string(op));
    compute(*known, in[1], in[2], in.subspan(3));
}

void Decoder::name(Words in) { module_.names[in[1]] = text_at(in, 2); }
void Decoder::member_name(Words in) { layouts_[in[1]].names[in[2]] = text_at(in, 3); }

void Decoder::decorate(Words in) {
    switch (in[2]) {
    case SpvDecorationSpecId:
        spec_ids_[in[1]] = in[3];
        break;
    case SpvDecorationBinding:
        bindings_[in[1]] = in[3];
        break;
    case SpvDecorationBuiltIn:
        builtins_[in[1]] = in[3];
        break;
    case SpvDecorationArrayStride:
        layouts_[in[1]].stride = in[3];
        break;
    default: // the others say nothing about values
        break;
    }
}

void Decoder::decorate_member(Words in) {
    if (in[3] == SpvDecorationOffset) layouts_[in[1]].offset[in[2]] = in[4];
}

void Decoder::entry_point(Words in) {
    if (text_at(in, 3) == "main") entry_ = in[2];
}

void Decoder::execution_mode(Words in) {
    if (in[1] == entry_ && in[2] == SpvExecutionModeLocalSize) std::copy_n(in.begin() + 3, 3, module_.size.begin());
}

void Decoder::type(Words in) {
    const uint32_t op = in[0] & 0xffffu;
    const uint32_t length = op == SpvOpTypeArray ? value(in[3]) : 0;
    module_.types.add(in, layouts_[in[1]], length);
}

uint32_t Decoder::define(uint32_t type, uint32_t id) {
    const auto place = static_cast<uint32_t>(module_.registers.size());
    module_.registers.resize(place + module_.types[type].words);
    type_of_[id] = type;
    places_[id] = place;
    return place;
}

uint32_t Decoder::literal(uint32_t type, uint32_t bits) const {
    if (!module_.types.is_of_halves(type)) return bits;
    return std::bit_cast<uint32_t>(plugin::widen_f16(static_cast<uint16_t>(bits)));
}

void Decoder::constant(Words in) {
    const uint32_t op = in[0] & 0xffffu;
    const uint32_t bits = op == SpvOpConstant ? in[3] : op == SpvOpConstantTrue ? 1 : 0;
    module_.registers[define(in[1], in[2])] = literal(in[1], bits);
}

void Decoder::spec_constant(Words in) {
    const uint32_t op = in[0] & 0xffffu;
    const uint32_t standard = op == SpvOpSpecConstant ? in[3] : op == SpvOpSpecConstantTrue ? 1 : 0;
    const auto id = spec_ids_.find(in[2]);
    const auto given = id == spec_ids_.end() ? specs_.end() : specs_.find(id->second);
    module_.registers[define(in[1], in[2])] = literal(in[1], given == specs_.end() ? standard : given->second);
}

void Decoder::constant_null(Words in) { define(in[1], in[2]); }
void Decoder::undefined(Words in) { define(in[1], in[2]); }

// Constants are computed by the instructions that compute such values in functions.
void Decoder::decode_now(std::vector<uint32_t> in) {
    const size_t begin = module_.code.size();
    decode(in);
    Invocation v;
    v.module = &module_;
    v.registers = module_.registers.data();
    for (size_t i = begin; i < module_.code.size(); ++i) module_.code[i].run(v, module_.code[i]);
    module_.code.resize(begin);
}

void Decoder::constant_composite(Words in) {
    std::vector<uint32_t> made(in.begin(), in.end());
    made[0] = SpvOpCompositeConstruct;
    decode_now(std::move(made));
}

void Decoder::spec_constant_op(Words in) {
    std::vector<uint32_t> made{in[3], in[1], in[2]};
    made.insert(made.end(), in.begin() + 4, in.end());
    decode_now(std::move(made));
}

void Decoder::variable(Words in) {
    const Type &pointer = module_.types[in[1]];
    Variable variable{module_.name_of(in[2]), pointer.element, in[3]};
    if (const auto binding = bindings_.find(in[2]); binding != bindings_.end()) variable.binding = binding->second;
    if (const auto builtin = builtins_.find(in[2]); builtin != builtins_.end()) variable.builtin = builtin->second;
    variable.words = module_.types[pointer.element].span;
    place_variable(variable);
    module_.registers[define(in[1], in[2])] = variable.place;
    roots_[in[2]] = in[2];
    module_.variables[in[2]] = variable;
    if (in.size() > 4) initialize(variable, in[4]);
}

void Decoder::place_variable(Variable &v) {
    switch (v.storage) {
    case SpvStorageClassFunction:
    case SpvStorageClassPrivate:
    case SpvStorageClassInput:
        v.place = static_cast<uint32_t>(module_.local.size());
        module_.local.resize(v.place + v.words);
        module_.is_written.resize(v.place + v.words, v.storage == SpvStorageClassInput ? 1 : 0);
        if (in_function_) module_.functions[current_function_].local_end = v.place + v.words;
        break;
    case SpvStorageClassWorkgroup:
        v.place = module_.shared_words;
        module_.shared_words += v.words;
        break;
    case SpvStorageClassPushConstant:
    case SpvStorageClassStorageBuffer:
    case SpvStorageClassUniform: // buffers of older modules
        break;
    default:
        throw Unknown("variables of storage class " + std::to_string(v.storage));
    }
}

void Decoder::initialize(const Variable &v, uint32_t constant) {
    const uint32_t words = module_.types[v.type].words;
    if (v.storage == SpvStorageClassFunction) {
        module_.parts.push_back({0, module_.types.places(v.type)});
        module_.registers.push_back(v.place); // the pointer
        emit({.run = store_local,
              .a = static_cast<uint32_t>(module_.registers.size() - 1),
              .c = at(constant),
              .words = words,
              .list = static_cast<uint32_t>(module_.parts.size() - 1)});
    } else if (v.storage == SpvStorageClassPrivate) {
        std::copy_n(module_.registers.begin() + at(constant), words, module_.local.begin() + v.place);
        std::fill_n(module_.is_written.begin() + v.place, words, uint8_t{1});
    } else {
        throw Unknown("variables of storage class " + std::to_string(v.storage) + " with a first value");
    }
}

void Decoder::finish() {
    for (Instruction &i : module_.code) {
        if (i.run == jump || i.run == jump_if) i.a = labels_.at(i.a);
        if (i.run == jump_if) i.words = labels_.at(i.words);
    }
    for (Switch &s : module_.switches) {
        for (auto &[selector, label] : s.cases) label = labels_.at(label);
        s.otherwise = labels_.at(s.otherwise);
    }
    for (auto &list : module_.phis)
        for (Phi &phi : list)
            for (auto &[block, id] : phi.from) id = at(id);
    for (const PendingCall &c : pending_calls_)
        for (size_t k = 0; k < c.arguments.size(); ++k)
            module_.copies[c.copies].push_back(
                {module_.functions[c.function].parameters.at(k), at(c.arguments[k]), type_of(c.arguments[k]).words});
    module_.entry = module_.functions.at(functions_.at(entry_)).begin;
    for (const auto &[id, builtin] : builtins_)
        if (builtin == SpvBuiltInWorkgroupSize && !module_.variables.contains(id))
            std::copy_n(module_.registers.begin() + at(id), 3, module_.size.begin());
}

} // namespace lamina::interpreter
