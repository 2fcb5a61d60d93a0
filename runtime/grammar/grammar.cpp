#include "grammar/languages.hpp"
#include "grammar/parts.hpp"

#include <utility>

namespace lamina {
namespace {

Grammar made_of(const grammar::Rules &rules, const std::string &name) {
    auto parts = std::make_shared<Grammar::Parts>();
    parts->network = std::make_shared<const grammar::Network>(grammar::network_of(rules, name));
    return Grammar(std::move(parts));
}

// `read` gives the expression of a whole text, and may add rules.
template <class Read> Grammar made_of(const Read &read, const std::string &name) {
    grammar::Rules rules;
    const uint32_t root = rules.add("root");
    grammar::Expression whole = read(rules);
    rules.expressions[root] = std::move(whole);
    return made_of(rules, name);
}

} // namespace

Grammar Grammar::json_schema(std::string_view schema, const std::string &name) {
    return made_of([&](grammar::Rules &rules) { return grammar::add_json_schema(rules, schema, name); }, name);
}

Grammar Grammar::json_object() { return made_of(grammar::add_json_object, "JSON object"); }

Grammar Grammar::regex(std::string_view pattern, const std::string &name) {
    return made_of([&](grammar::Rules &) { return grammar::read_regex(pattern, name, grammar::Match::whole); }, name);
}

Grammar Grammar::gbnf(std::string_view text, const std::string &name) {
    return made_of(grammar::read_gbnf(text, name), name);
}

bool Grammar::matches(std::string_view text) const {
    grammar::Automaton automaton(parts_->network);
    uint32_t at = grammar::Automaton::begin;
    for (const char byte : text) at = automaton.step(at, static_cast<uint8_t>(byte));
    return automaton.may_end(at);
}

size_t Grammar::bytes() const {
    size_t out = 2 * grammar::Constraint::most_bytes;
    for (const grammar::Network::State &s : parts_->network->states)
        out += sizeof(s) + s.edges.capacity() * sizeof(s.edges.front()) + s.calls.capacity() * sizeof(s.calls.front()) +
               s.jumps.capacity() * sizeof(s.jumps.front());
    return out;
}

namespace grammar {

std::shared_ptr<Constraint> constraint_of(const Grammar &grammar, const std::shared_ptr<const TokenTrie> &first,
                                          const std::shared_ptr<const TokenTrie> &rest) {
    Grammar::Parts &parts = grammar.parts();
    const std::lock_guard lock(parts.mutex);
    for (const std::shared_ptr<Constraint> &known : parts.constraints)
        if (known->is_of(first, rest)) return known;
    auto made = std::make_shared<Constraint>(parts.network, first, rest);
    parts.constraints.push_back(made);
    return made;
}

} // namespace grammar
} // namespace lamina
