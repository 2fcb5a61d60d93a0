#include "abi/dims.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace lamina::abi {
namespace {

struct Factor {
    bool divides = false;
    std::string_view text; // a name or a number
};
struct Term {
    bool negative = false;
    std::vector<Factor> factors;
};

bool is_number(std::string_view s) { return std::isdigit(static_cast<unsigned char>(s.front())) != 0; }

[[noreturn]] void malformed(std::string_view expression) {
    throw Error(ErrorCode::plugin, "malformed expression '" + std::string(expression) +
                                       "' in a contract: expected names and numbers joined by * / + -");
}

// "heads*D-1" -> terms of factors.
std::vector<Term> parse(std::string_view expression) {
    std::vector<Term> terms(1);
    bool divides = false;
    size_t at = 0;
    while (true) {
        const size_t begin = at;
        while (at < expression.size() &&
               (std::isalnum(static_cast<unsigned char>(expression[at])) != 0 || expression[at] == '_'))
            ++at;
        if (at == begin) malformed(expression);
        terms.back().factors.push_back({divides, expression.substr(begin, at - begin)});
        if (at == expression.size()) return terms;
        switch (expression[at++]) {
        case '*':
            divides = false;
            break;
        case '/':
            divides = true;
            break;
        case '+':
            terms.push_back({false, {}}), divides = false;
            break;
        case '-':
            terms.push_back({true, {}}), divides = false;
            break;
        default:
            malformed(expression);
        }
    }
}

std::optional<int64_t> value_of(std::string_view factor, const Dims &dims) {
    if (is_number(factor)) return std::stoll(std::string(factor));
    const auto it = dims.values.find(factor);
    return it == dims.values.end() ? std::nullopt : std::optional(it->second);
}

int64_t multiply(int64_t a, int64_t b, std::string_view expression) {
    int64_t out = 0;
    if (__builtin_mul_overflow(a, b, &out))
        throw Error(ErrorCode::input, "'" + std::string(expression) + "' does not fit 64 bits");
    return out;
}

int64_t divide(int64_t a, int64_t b, std::string_view expression) {
    if (b == 0) throw Error(ErrorCode::input, "'" + std::string(expression) + "' divides by zero");
    if (a % b != 0)
        throw Error(ErrorCode::input, "'" + std::string(expression) + "' is not a whole number: " + std::to_string(a) +
                                          " / " + std::to_string(b));
    return a / b;
}

std::optional<int64_t> value_of(const Term &term, const Dims &dims, std::string_view expression) {
    int64_t product = 1;
    int64_t divisor = 1;
    for (const Factor &factor : term.factors) {
        const auto value = value_of(factor.text, dims);
        if (!value) return std::nullopt;
        int64_t &side = factor.divides ? divisor : product;
        side = multiply(side, *value, expression);
    }
    return divide(product, divisor, expression);
}

// Solves "heads*D" = size for D, the only name in it that is not known. Nothing when there are several such names.
bool solve(std::string_view token, int64_t size, Dims &dims, const std::string &where) {
    const std::vector<Term> terms = parse(token);
    if (terms.size() != 1) return false;
    const Factor *unknown = nullptr;
    int64_t product = 1;
    int64_t divisor = 1;
    for (const Factor &factor : terms.front().factors) {
        const auto value = value_of(factor.text, dims);
        if (value) {
            int64_t &side = factor.divides ? divisor : product;
            side = multiply(side, *value, token);
        } else if (unknown != nullptr || factor.divides) {
            return false;
        } else {
            unknown = &factor;
        }
    }
    const int64_t scaled = multiply(size, divisor, token);
    if (product == 0 || scaled % product != 0)
        throw Error(ErrorCode::input, where + ": expected a size of " + std::string(token) + ", a multiple of " +
                                          std::to_string(product) + ", found " + std::to_string(size));
    dims.values.emplace(unknown->text, scaled / product);
    return true;
}

std::vector<std::string> split(std::string_view spec) {
    std::istringstream in{std::string(spec)};
    std::vector<std::string> out;
    for (std::string token; in >> token;) out.push_back(token);
    return out;
}

std::string known(std::string_view spec, const Dims &dims) {
    std::string out;
    for (const std::string &name : names_in(spec)) {
        const auto it = dims.values.find(name);
        if (it != dims.values.end()) out += (out.empty() ? "" : ", ") + name + " = " + std::to_string(it->second);
    }
    return out.empty() ? "" : " with " + out;
}

[[noreturn]] void mismatch(std::string_view spec, const Shape &shape, const Dims &dims, const std::string &where) {
    throw Error(ErrorCode::input, where + ": expected a shape of (" + std::string(spec) + ")" + known(spec, dims) +
                                      ", found " + to_string(shape));
}

} // namespace

std::optional<int64_t> evaluate(std::string_view expression, const Dims &dims) {
    int64_t sum = 0;
    for (const Term &term : parse(expression)) {
        const auto value = value_of(term, dims, expression);
        if (!value) return std::nullopt;
        sum += term.negative ? -*value : *value;
    }
    return sum;
}

bool unify(std::string_view spec, const Shape &shape, Dims &dims, const std::string &where) {
    std::vector<std::string> tokens = split(spec);
    auto sizes = shape.begin();
    if (!tokens.empty() && tokens.front() == "...") {
        tokens.erase(tokens.begin());
        if (shape.size() < tokens.size()) mismatch(spec, shape, dims, where);
        const Shape leading(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(tokens.size()));
        if (!dims.ellipsis) dims.ellipsis = leading;
        if (*dims.ellipsis != leading) mismatch(spec, shape, dims, where);
        sizes += static_cast<std::ptrdiff_t>(leading.size());
    }
    if (static_cast<size_t>(shape.end() - sizes) != tokens.size()) mismatch(spec, shape, dims, where);
    bool complete = true;
    for (const std::string &token : tokens) {
        const int64_t size = *sizes++;
        const auto value = evaluate(token, dims);
        if (value ? *value != size : false) mismatch(spec, shape, dims, where);
        if (!value) complete = solve(token, size, dims, where) && complete;
    }
    return complete;
}

Shape instantiate(std::string_view spec, const Dims &dims, const std::string &where) {
    Shape shape;
    for (const std::string &token : split(spec)) {
        if (token == "...") {
            if (dims.ellipsis) shape.insert(shape.end(), dims.ellipsis->begin(), dims.ellipsis->end());
            continue;
        }
        const auto value = evaluate(token, dims);
        if (!value)
            throw Error(ErrorCode::plugin, where + ": the contract does not say the size of '" + token +
                                               "': no input, weight or parameter that is given names it");
        shape.push_back(*value);
    }
    return shape;
}

std::vector<std::string> names_in(std::string_view spec) {
    std::vector<std::string> names;
    for (const std::string &token : split(spec)) {
        if (token == "...") continue;
        for (const Term &term : parse(token))
            for (const Factor &factor : term.factors)
                if (!is_number(factor.text) && std::find(names.begin(), names.end(), factor.text) == names.end())
                    names.emplace_back(factor.text);
    }
    return names;
}

} // namespace lamina::abi
