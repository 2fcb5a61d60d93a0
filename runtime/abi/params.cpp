#include "abi/params.hpp"

#include "abi/contract.hpp"
#include "base/nearest.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

namespace lamina::abi {
namespace {

std::string text_of(const ParamValue &value) {
    if (const bool *b = std::get_if<bool>(&value)) return *b ? "true" : "false";
    if (const double *d = std::get_if<double>(&value)) {
        std::ostringstream out;
        out << *d;
        return out.str();
    }
    return "\"" + std::get<std::string>(value) + "\"";
}

double choice_index(const lamina_param &p, const std::string &value, const std::string &where) {
    std::istringstream choices(p.choices);
    std::string choice;
    std::vector<std::string> all;
    while (std::getline(choices, choice, '|')) {
        if (choice == value) return static_cast<double>(all.size());
        all.push_back(choice);
    }
    throw Error(ErrorCode::input,
                where + ": expected one of " + p.choices + ", found \"" + value + "\"" + did_you_mean(value, all));
}

} // namespace

double param_number(const lamina_param &p, const ParamValue &value, const std::string &where) {
    const auto fail = [&](const char *expected) -> double {
        throw Error(ErrorCode::input, where + ": expected " + expected + ", found " + text_of(value));
    };
    if (p.kind == LAMINA_BOOL)
        return std::holds_alternative<bool>(value) ? (std::get<bool>(value) ? 1 : 0) : fail("true or false");
    if (p.kind == LAMINA_CHOICE)
        return std::holds_alternative<std::string>(value) ? choice_index(p, std::get<std::string>(value), where)
                                                          : fail((std::string("one of ") + p.choices).c_str());
    if (!std::holds_alternative<double>(value)) return fail("a number");
    const double v = std::get<double>(value);
    if (p.kind == LAMINA_INT && v != std::floor(v)) return fail("a whole number");
    if (!(v >= p.min && v <= p.max)) {
        std::ostringstream expected;
        expected << "a number from " << p.min << " to " << p.max;
        return fail(expected.str().c_str());
    }
    return v;
}

ParamValue param_value(const lamina_param &p, double number) {
    if (p.kind == LAMINA_BOOL) return number != 0;
    if (p.kind != LAMINA_CHOICE) return number;
    std::string_view names = p.choices; // "interleaved|halves"
    for (auto skip = static_cast<size_t>(number); skip > 0; --skip) names.remove_prefix(names.find('|') + 1);
    return std::string(names.substr(0, names.find('|')));
}

std::vector<double> resolve_params(const lamina_layer &layer,
                                   const std::map<std::string, ParamValue, std::less<>> &given,
                                   const std::string &where) {
    std::vector<double> out;
    std::vector<std::string> names;
    for (uint32_t i = 0; i < layer.n_params; ++i) names.emplace_back(layer.params[i].name);
    for (const auto &[name, value] : given)
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw Error(ErrorCode::input,
                        where + ": " + layer.id + " has no parameter '" + name + "'" + instead_of(name, names));
    for (uint32_t i = 0; i < layer.n_params; ++i) {
        const lamina_param &p = layer.params[i];
        const std::string place = where + ": parameter '" + p.name + "'";
        const auto it = given.find(p.name);
        if (it != given.end())
            out.push_back(param_number(p, it->second, place));
        else if (p.follows != nullptr)
            out.push_back(out[place_of_name(layer.params, i, p.follows)]);
        else if ((p.flags & LAMINA_REQUIRED) != 0)
            throw Error(ErrorCode::input, place + " is required (" + p.summary + ")");
        else
            out.push_back(p.dflt);
    }
    return out;
}

bool is_batch_first(const lamina_layer &layer, const std::vector<double> &params) {
    for (uint32_t i = 0; i < layer.n_params; ++i)
        if (std::string_view(layer.params[i].name) == "batch_first") return params[i] != 0;
    return true;
}

} // namespace lamina::abi
