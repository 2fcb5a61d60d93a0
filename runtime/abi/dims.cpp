#include "abi/dims.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

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

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_name(std::string_view expression) {
    return !expression.empty() && !is_digit(expression.front()) &&
           std::all_of(expression.begin(), expression.end(), is_part_of_name);
}

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
        while (at < expression.size() && is_part_of_name(expression[at])) ++at;
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

std::vector<std::string_view> split(std::string_view spec) {
    std::vector<std::string_view> out;
    for (size_t begin = 0; (begin = spec.find_first_not_of(' ', begin)) != std::string_view::npos;) {
        const size_t end = std::min(spec.find(' ', begin), spec.size());
        out.push_back(spec.substr(begin, end - begin));
        begin = end;
    }
    return out;
}

std::optional<Size> number_of(std::string_view factor, std::string_view expression) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(factor.data(), factor.data() + factor.size(), number);
    if (error != std::errc() || end != factor.data() + factor.size()) malformed(expression);
    return number;
}

[[noreturn]] void refuse(std::string_view expression, const std::string &why) {
    throw Error(ErrorCode::input, "'" + std::string(expression) + "' " + why);
}

// A quotient by an open size becomes a new unknown, with the equation quotient * divisor = dividend.
Size divide(const Size &product, const Size &divisor, std::string_view expression, Solver &solver) {
    if (divisor == Size(0)) refuse(expression, "divides by zero");
    if (divisor.is_known()) {
        const Size quotient = product * Size(Fraction{1, 1} / divisor.constant());
        if (!quotient.is_known() || quotient.number()) return quotient;
    } else {
        const Size quotient = solver.open(std::string(expression));
        if (solver.equate(quotient * divisor, product)) return quotient;
    }
    refuse(expression, "is not a whole number: " + solver.text(product) + " / " + solver.text(divisor));
}

} // namespace

std::optional<Size> Dims::find(std::string_view name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? std::nullopt : std::optional(solver_->resolve(found->second));
}

std::optional<Size> Dims::evaluate(std::string_view expression) const {
    if (auto size = find(expression)) return size;
    try {
        Size sum;
        for (const Term &term : parse(expression)) {
            Size product = 1, divisor = 1;
            for (const Factor &factor : term.factors) {
                const auto size =
                    is_digit(factor.text.front()) ? number_of(factor.text, expression) : find(factor.text);
                if (!size) return std::nullopt;
                Size &side = factor.divides ? divisor : product;
                side = side * *size;
            }
            if (divisor != Size(1)) product = divide(product, divisor, expression, *solver_);
            sum = term.negative ? sum - product : sum + product;
        }
        return sum;
    } catch (const Overflow &) {
        refuse(expression, "does not fit in 64 bits");
    }
}

void Dims::unify(std::string_view spec, const OpenShape &shape) {
    std::vector<std::string_view> expressions = split(spec);
    const bool leads = !expressions.empty() && expressions.front() == "...";
    if (leads) expressions.erase(expressions.begin());
    const bool fits = leads ? shape.size() >= expressions.size() : shape.size() == expressions.size();
    const auto rest = shape.end() - static_cast<std::ptrdiff_t>(fits ? expressions.size() : 0);
    bool equal = fits && (!leads || unify_leading({shape.begin(), rest}));
    for (size_t i = 0; equal && i < expressions.size(); ++i)
        equal = unify_axis(expressions[i], rest[static_cast<std::ptrdiff_t>(i)]);
    if (!equal)
        throw Error(ErrorCode::input, "expected a shape of (" + std::string(spec) + ")" + known(spec) + ", found " +
                                          solver_->text(shape));
}

bool Dims::unify_leading(const OpenShape &axes) {
    if (!leading_) leading_ = axes;
    if (leading_->size() != axes.size()) return false;
    for (size_t i = 0; i < axes.size(); ++i)
        if (!solver_->equate((*leading_)[i], axes[i])) return false;
    return true;
}

bool Dims::unify_axis(std::string_view expression, const Size &size) {
    if (is_name(expression)) {
        const auto [name, is_new] = names_.try_emplace(std::string(expression), size);
        return is_new || solver_->equate(name->second, size);
    }
    for (const Term &term : parse(expression))
        for (const Factor &factor : term.factors)
            if (is_name(factor.text) && !names_.contains(factor.text))
                names_.emplace(factor.text, solver_->open(std::string(factor.text)));
    const Size expected = *evaluate(expression);
    if (solver_->equate(expected, size)) return true;
    const auto found = solver_->resolve(size).number();
    if (!found || expected.products().size() != 1 || expected.constant() != Fraction{}) return false;
    throw Error(ErrorCode::input, "expected a size of " + std::string(expression) + ", a multiple of " +
                                      std::to_string(expected.products().front().times.top) + ", found " +
                                      std::to_string(*found));
}

OpenShape Dims::instantiate(std::string_view spec) const {
    OpenShape shape;
    for (const std::string_view expression : split(spec)) {
        if (expression == "...") {
            if (leading_) shape.insert(shape.end(), leading_->begin(), leading_->end());
            continue;
        }
        auto size = evaluate(expression);
        if (!size)
            throw Error(ErrorCode::plugin, "the contract does not determine the size of '" + std::string(expression) +
                                               "': it occurs in no input, weight or parameter that is given");
        shape.push_back(std::move(*size));
    }
    return shape;
}

// " with B = 2, C = 5*D": what the names in a spec stand for, if that adds information.
std::string Dims::known(std::string_view spec) const {
    std::string out;
    for (const std::string &name : names_in(spec)) {
        const auto size = names_.find(name);
        const std::string text = size == names_.end() ? name : solver_->text(size->second);
        if (text != name) out += (out.empty() ? "" : ", ") + name + " = " + text;
    }
    return out.empty() ? "" : " with " + out;
}

std::vector<std::string> names_in(std::string_view spec) {
    std::vector<std::string> names;
    for (const std::string_view expression : split(spec)) {
        if (expression == "...") continue;
        for (const Term &term : parse(expression))
            for (const Factor &factor : term.factors)
                if (!is_digit(factor.text.front()) && std::find(names.begin(), names.end(), factor.text) == names.end())
                    names.emplace_back(factor.text);
    }
    return names;
}

} // namespace lamina::abi
