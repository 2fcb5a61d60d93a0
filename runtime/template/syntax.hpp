// The syntax tree of a template. Expressions have values; statements write output.
#pragma once

#include "template/value.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lamina::jinja {

struct Node {
    size_t place = 0; // in the source
    Node() = default;
    Node(const Node &) = delete;
    Node &operator=(const Node &) = delete;
    virtual ~Node() = default;
};

// ---- Expressions: implemented in expressions.cpp ----
struct Expression : Node {
    [[nodiscard]] virtual Value evaluate(Run &run) const = 0;
};
using ExpressionPtr = std::unique_ptr<const Expression>;

struct Constant final : Expression {
    explicit Constant(Value it) : value(std::move(it)) {}
    Value value;
    [[nodiscard]] Value evaluate(Run &run) const override;
};

struct Name final : Expression {
    explicit Name(std::string it) : name(std::move(it)) {}
    std::string name;
    [[nodiscard]] Value evaluate(Run &run) const override;
};

struct SequenceLiteral final : Expression {
    explicit SequenceLiteral(Sequence::Kind of) : kind(of) {}
    Sequence::Kind kind;
    std::vector<ExpressionPtr> items;
    [[nodiscard]] Value evaluate(Run &run) const override;
};

struct DictLiteral final : Expression {
    std::vector<std::pair<ExpressionPtr, ExpressionPtr>> members;
    [[nodiscard]] Value evaluate(Run &run) const override;
};

// a + b, or -a, which has no left side
struct Arithmetic final : Expression {
    Arithmetic(std::string of, ExpressionPtr a, ExpressionPtr b)
        : symbol(std::move(of)), left(std::move(a)), right(std::move(b)) {}
    std::string symbol;
    ExpressionPtr left, right;
    [[nodiscard]] Value evaluate(Run &run) const override;
};

// a ~ b ~ c
struct Concatenation final : Expression {
    std::vector<ExpressionPtr> parts;
    [[nodiscard]] Value evaluate(Run &run) const override;
};

// a < b <= c means a < b and b <= c
struct Comparison final : Expression {
    ExpressionPtr first;
    std::vector<std::pair<std::string, ExpressionPtr>> rest; // "<", "in", "not in"
    [[nodiscard]] Value evaluate(Run &run) const override;
};

// a and b, a or b; the value is that of the deciding side
struct Logic final : Expression {
    Logic(bool of, ExpressionPtr a, ExpressionPtr b) : is_and(of), left(std::move(a)), right(std::move(b)) {}
    bool is_and;
    ExpressionPtr left, right;
    [[nodiscard]] Value evaluate(Run &run) const override;
};

struct Not final : Expression {
    explicit Not(ExpressionPtr of) : operand(std::move(of)) {}
    ExpressionPtr operand;
    [[nodiscard]] Value evaluate(Run &run) const override;
};

// a if condition else b; the else part is optional
struct Conditional final : Expression {
    ExpressionPtr condition, yes, no;
    [[nodiscard]] Value evaluate(Run &run) const override;
};

struct Attribute final : Expression {
    Attribute(ExpressionPtr of, std::string it) : object(std::move(of)), name(std::move(it)) {}
    ExpressionPtr object;
    std::string name;
    [[nodiscard]] Value evaluate(Run &run) const override;
};

struct Subscript final : Expression {
    ExpressionPtr object, index;
    [[nodiscard]] Value evaluate(Run &run) const override;
};

// a[begin:end:step]; all three are optional
struct Slice final : Expression {
    ExpressionPtr object, begin, end, step;
    [[nodiscard]] Value evaluate(Run &run) const override;
};

struct CallArguments {
    std::vector<ExpressionPtr> positional;
    std::vector<std::pair<std::string, ExpressionPtr>> named;
    ExpressionPtr more_positional, more_named; // *list, **dict; both optional
    [[nodiscard]] Arguments evaluate(Run &run) const;
};

struct Call final : Expression {
    ExpressionPtr callee;
    CallArguments arguments;
    [[nodiscard]] Value evaluate(Run &run) const override;
    [[nodiscard]] Value call(Run &run, const Arguments &passed) const;
};

// value | name(arguments). In {% filter %} and {% set %} blocks there is no value; the filter applies to their output.
struct FilterCall final : Expression {
    ExpressionPtr value;
    std::string name;
    CallArguments arguments;
    [[nodiscard]] Value evaluate(Run &run) const override;
    [[nodiscard]] Value apply(Run &run, const Value &to) const; // the whole chain of filters
};

// value is name(arguments)
struct TestCall final : Expression {
    ExpressionPtr value;
    std::string name;
    CallArguments arguments;
    [[nodiscard]] Value evaluate(Run &run) const override;
};

// ---- Statements: implemented in statements.cpp ----
enum class Flow { on, next_round, end_loop };

struct Statement : Node {
    virtual Flow render(Run &run) const = 0;
};
using Block = std::vector<std::unique_ptr<const Statement>>;

struct PlainText final : Statement {
    explicit PlainText(std::string it) : text(std::move(it)) {}
    std::string text;
    Flow render(Run &run) const override;
};

// {{ expression }}
struct Output final : Statement {
    explicit Output(ExpressionPtr it) : expression(std::move(it)) {}
    ExpressionPtr expression;
    Flow render(Run &run) const override;
};

// The target of an assignment: a name, an attribute of a namespace, or several names.
struct Target {
    std::vector<std::string> names;
    std::string attribute; // of the namespace names[0]
    bool is_tuple = false;
    void assign(Run &run, Value value) const;
};

// {% set target = value %}, or {% set target | filter %} body {% endset %}
struct Set final : Statement {
    Target target;
    ExpressionPtr value;
    std::unique_ptr<const FilterCall> filter;
    Block body;
    Flow render(Run &run) const override;
};

struct If final : Statement {
    std::vector<std::pair<ExpressionPtr, Block>> branches;
    Block otherwise;
    Flow render(Run &run) const override;
};

struct For final : Statement {
    Target target;
    ExpressionPtr items, condition;
    Block body, otherwise;
    Flow render(Run &run) const override;
};

// {% break %} and {% continue %}
struct Jump final : Statement {
    explicit Jump(Flow to) : flow(to) {}
    Flow flow;
    Flow render(Run &run) const override;
};

struct Parameter {
    std::string name;
    ExpressionPtr fallback; // optional
};

// What {% macro %} defines.
struct MacroDefinition {
    std::string name;
    std::vector<Parameter> parameters;
    Block body;
};

struct Macro final : Statement {
    MacroDefinition definition;
    Flow render(Run &run) const override;
};

// {% filter name %} body {% endfilter %}
struct FilterBlock final : Statement {
    std::unique_ptr<const FilterCall> filter;
    Block body;
    Flow render(Run &run) const override;
};

// {% generation %} body {% endgeneration %}, which marks the text that a model is trained on.
struct Generation final : Statement {
    Block body;
    Flow render(Run &run) const override;
};

} // namespace lamina::jinja
