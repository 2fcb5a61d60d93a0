#include "writer.hpp"

#include <algorithm>

namespace lamina::serve {

void Writer::add(std::shared_ptr<Answer> answer) {
    try {
        const uint64_t id =
            batch_.add_ids(answer->prompt, answer->options, {answer->owner.client, answer->owner.request});
        answers_.emplace(id, std::move(answer));
    } catch (...) {
        answer->end(std::current_exception());
    }
}

void Writer::step() {
    drop_those_left();
    try {
        if (answers_.empty()) return look_at_slots();
        metrics_.batch(model_, std::min(answers_.size(), slots_));
        std::vector<Batch::Progress> news = batch_.step();
        look_at_slots(); // before a client may know of the news
        for (Batch::Progress &progress : news) tell(std::move(progress));
    } catch (...) { // the device or memory fails all of them
        for (const auto &[id, answer] : answers_) {
            batch_.cancel(id);
            answer->end(std::current_exception());
        }
        answers_.clear();
        const std::scoped_lock lock(mutex_);
        seen_.assign(slots_, {}); // which takes no memory
    }
}

void Writer::look_at_slots() {
    std::vector<Slot> now(slots_);
    const std::vector<Batch::Slot> held = batch_.slots();
    for (size_t i = 0; i < std::min(now.size(), held.size()); ++i) {
        const auto found = answers_.find(held[i].id);
        now[i] = {found == answers_.end() ? nullptr : found->second, held[i].tokens};
    }
    const std::scoped_lock lock(mutex_);
    seen_.swap(now);
}

void Writer::drop_those_left() {
    std::erase_if(answers_, [this](const auto &entry) {
        const auto &[id, answer] = entry;
        if (!answer->left()) return false;
        batch_.cancel(id);
        answer->end();
        return true;
    });
}

void Writer::tell(Batch::Progress progress) {
    const auto found = answers_.find(progress.id);
    if (found == answers_.end()) return;
    Answer &answer = *found->second;
    if (!progress.piece.empty()) {
        if (!answer.begun()) metrics_.first_token(model_, Work::Clock::now() - answer.asked);
    }
    answer.add({std::move(progress.piece), std::move(progress.scores), std::move(progress.prompt_scores)});
    if (progress.failed) {
        answer.end(std::make_exception_ptr(*progress.failed));
    } else if (progress.finished) {
        answer.hypothesis = std::move(*progress.finished);
        answer.end();
    } else {
        return;
    }
    answers_.erase(found);
}

} // namespace lamina::serve
