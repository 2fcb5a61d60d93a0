// Renders statements.
#include "template/builtins.hpp"
#include "template/objects.hpp"
#include "template/operators.hpp"
#include "template/printing.hpp"
#include "template/run.hpp"
#include "template/syntax.hpp"

#include "base/utf8.hpp"

namespace lamina::jinja {

void Target::assign(Run &run, Value value) const {
    if (!attribute.empty()) {
        const Value *variable = run.find(names[0]);
        auto *space = variable != nullptr ? dynamic_cast<Namespace *>(variable->object()) : nullptr;
        if (space == nullptr)
            run.fail(in_quotes(names[0]) + " is not a namespace: only attributes of namespaces can be set");
        space->set(attribute, std::move(value));
        return;
    }
    if (!is_tuple) {
        run.set(names[0], std::move(value));
        return;
    }
    const Items items = items_of(run, value);
    if (items.size() != names.size())
        run.fail("expected " + std::to_string(names.size()) + " values to assign, found " +
                 std::to_string(items.size()));
    for (size_t i = 0; i < names.size(); ++i) run.set(names[i], items[i]);
}

Flow PlainText::render(Run &run) const {
    run.write(text);
    return Flow::on;
}

Flow Output::render(Run &run) const {
    write_value(run, run.value(*expression));
    return Flow::on;
}

Flow Set::render(Run &run) const {
    if (value != nullptr) {
        target.assign(run, run.value(*value));
        return Flow::on;
    }
    Flow flow = Flow::on;
    Value written = run.text(run.capture([&] { flow = run.in_scope(run.scope(), [&] { return run.render(body); }); }));
    if (filter != nullptr) written = filter->apply(run, written);
    target.assign(run, std::move(written));
    return flow;
}

Flow If::render(Run &run) const {
    for (const auto &[condition, block] : branches)
        if (run.value(*condition).truth()) return run.render(block);
    return run.render(otherwise);
}

Flow For::render(Run &run) const {
    const Scope *around = run.scope();
    std::function<bool(const Value &)> chosen;
    if (condition != nullptr)
        chosen = [&run, around, this](const Value &item) {
            return run.in_scope(around, [&] {
                target.assign(run, item);
                return run.value(*condition).truth();
            });
        };
    auto *loop = run.object<LoopObject>(items_of(run, run.value(*items)), std::move(chosen));
    bool ended = false; // a round, without a break or continue: only then Jinja leaves out what follows 'else'
    run.in_scope(around, [&] {
        for (size_t round = 0; loop->go_to(round); ++round) {
            run.scope()->variables.clear(); // variables do not carry over to the next round
            run.set("loop", loop);
            target.assign(run, loop->item());
            const Flow flow = run.render(body);
            if (flow == Flow::end_loop) return;
            ended |= flow == Flow::on;
        }
    });
    return ended ? Flow::on : run.in_scope(around, [&] { return run.render(otherwise); });
}

Flow Jump::render(Run & /*run*/) const { return flow; }

Flow Macro::render(Run &run) const {
    run.set(definition.name, run.object<MacroObject>(definition, run.scope()));
    return Flow::on;
}

Flow FilterBlock::render(Run &run) const {
    Flow flow = Flow::on;
    const Value written =
        run.text(run.capture([&] { flow = run.in_scope(run.scope(), [&] { return run.render(body); }); }));
    write_value(run, filter->apply(run, written));
    return flow;
}

Flow Generation::render(Run &run) const {
    return run.in_scope(run.scope(), [&] { return run.render(body); });
}

} // namespace lamina::jinja
