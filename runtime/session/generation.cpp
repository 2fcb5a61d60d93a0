#include "session/generation.hpp"

#include "session/generation_shapes.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace lamina::session {
std::vector<Ids> tokenize(const model::Model &model, const std::vector<std::string> &texts) {
    const model::TextCodec &codec = model.generation->source;
    const model::Vocabulary &vocabulary = model.vocabularies.at(codec.vocabulary);
    std::vector<Ids> out;
    for (size_t i = 0; i < texts.size(); ++i) {
        try {
            out.push_back(vocabulary.encode(texts[i], codec.characters, codec.lowercase));
        } catch (const Error &e) {
            throw Error(e.code(), "text " + std::to_string(i + 1) + " (\"" + texts[i] + "\"): " + e.what());
        }
    }
    return out;
}

namespace {

int32_t best_of(std::span<const float> logits) {
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

int64_t round_up(size_t n, int64_t multiple) { return (static_cast<int64_t>(n) + multiple - 1) / multiple * multiple; }

} // namespace

std::vector<Ids> greedy(detail::SessionState &session, const std::vector<Ids> &sources) {
    const model::Generation &g = *session.model->generation;
    const model::Vocabulary &target = session.model->vocabularies.at(g.target.vocabulary);
    const int32_t end = *target.id(g.end);
    Decoder decoder(session, sources);
    std::vector<Ids> out(sources.size());
    Ids tokens(sources.size(), *target.id(g.start));
    std::vector<bool> done(sources.size(), false);
    for (int64_t position = 0; position <= g.max_length && std::find(done.begin(), done.end(), false) != done.end();
         ++position) {
        const std::span<const float> logits = decoder.step(tokens, position);
        for (size_t b = 0; b < sources.size(); ++b) {
            if (done[b]) continue;
            tokens[b] = best_of(logits.subspan(b * decoder.vocabulary(), decoder.vocabulary()));
            done[b] = tokens[b] == end || static_cast<int64_t>(out[b].size()) == g.max_length;
            if (!done[b]) out[b].push_back(tokens[b]);
        }
    }
    return out;
}

Decoder::Decoder(detail::SessionState &session, const std::vector<Ids> &sources) {
    const model::Generation &g = *session.model->generation;
    batch_ = std::bit_ceil(sources.size());
    size_t longest = 0;
    for (const Ids &ids : sources) longest = std::max(longest, ids.size());
    const int64_t length = round_up(longest, 8);

    // Sequences beyond the batch are one token long; what they compute is never looked at.
    Tensor source(TensorType{DType::i32, {static_cast<int64_t>(batch_), length}});
    Tensor lengths(TensorType{DType::i32, {static_cast<int64_t>(batch_)}});
    for (size_t b = 0; b < batch_; ++b) {
        lengths.i32()[b] = b < sources.size() ? static_cast<int32_t>(sources[b].size()) : 1;
        if (b < sources.size())
            std::copy(sources[b].begin(), sources[b].end(),
                      source.i32().begin() + static_cast<std::ptrdiff_t>(b) * length);
    }

    plan::Program &encode = session.program(g.encode, encode_shapes(g, static_cast<int64_t>(batch_), length));
    encode.write(encode.plan().inputs.at(g.source_ids), source.bytes());
    encode.write(encode.plan().inputs.at(g.source_lengths), lengths.bytes());
    encode.run();
    const int32_t memory_output = encode.plan().outputs.at(g.memory);
    Tensor memory(encode.plan().tensors[static_cast<size_t>(memory_output)].type);
    encode.read(memory_output, memory.bytes());

    const int64_t state_length = std::max(round_up(static_cast<size_t>(g.max_length) + 1, 8), length);
    decode_ =
        &session.program(g.decode, decode_shapes(g, static_cast<int64_t>(batch_), 1, memory.type(), state_length));
    decode_->write(decode_->plan().inputs.at(g.memory), memory.bytes());
    decode_->write(decode_->plan().inputs.at(g.source_lengths), lengths.bytes());
    ids_input_ = decode_->plan().inputs.at(g.target_ids);
    position_input_ = decode_->plan().inputs.at(g.position);
    logits_output_ = decode_->plan().outputs.at(g.logits);
    vocabulary_ = static_cast<size_t>(decode_->plan().tensors[static_cast<size_t>(logits_output_)].type.shape.back());
    ids_.assign(batch_, *session.model->vocabularies.at(g.target.vocabulary).id(g.start));
    positions_.resize(batch_);
    logits_.resize(batch_ * vocabulary_);
}

std::span<const float> Decoder::step(std::span<const int32_t> tokens, int64_t position) {
    std::copy(tokens.begin(), tokens.end(), ids_.begin());
    std::fill(positions_.begin(), positions_.end(), static_cast<int32_t>(position));
    decode_->write(ids_input_, std::as_bytes(std::span(ids_)));
    decode_->write(position_input_, std::as_bytes(std::span(positions_)));
    decode_->run();
    decode_->read(logits_output_, std::as_writable_bytes(std::span(logits_)));
    return logits_;
}

std::vector<std::string> generate(detail::SessionState &session, const std::vector<std::string> &texts,
                                  const GenerateOptions &options) {
    const model::Model &model = *session.model;
    if (!model.generation)
        throw Error(ErrorCode::input,
                    (model.folder / "model.json").string() +
                        " has no \"generation\" block: this model does not take text; give --input NAME=FILE.npy");
    const model::Generation &g = *model.generation;
    const model::Vocabulary &target = model.vocabularies.at(g.target.vocabulary);
    const std::vector<Ids> sources = tokenize(model, texts);

    // Texts of like length together: a batch is as long as its longest.
    std::vector<size_t> order;
    for (size_t i = 0; i < sources.size(); ++i)
        if (!sources[i].empty()) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return sources[a].size() < sources[b].size(); });

    std::vector<std::string> out(texts.size());
    const size_t batch = std::max<size_t>(options.batch, 1);
    for (size_t first = 0; first < order.size(); first += batch) {
        const size_t last = std::min(order.size(), first + batch);
        std::vector<Ids> members;
        for (size_t i = first; i < last; ++i) members.push_back(sources[order[i]]);
        const std::vector<Ids> ids = greedy(session, members);
        for (size_t i = first; i < last; ++i)
            out[order[i]] = target.decode(ids[i - first], g.target.characters ? "" : " ");
        if (options.progress) options.progress(last, order.size());
    }
    return out;
}

} // namespace lamina::session
