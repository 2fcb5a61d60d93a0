#include "generation/texts.hpp"

#include "base/random.hpp"
#include "generation/choices.hpp"
#include "generation/generation_shapes.hpp"
#include "model/place.hpp"

#include <algorithm>

namespace lamina::generation {
namespace {

const model::Generation &generation_of(const model::Model &model) {
    if (!model.generation)
        throw Error(ErrorCode::input,
                    model.folder.string() + " does not generate text: it " + model::what_it_does(model));
    if (model.generation->audio)
        throw Error(ErrorCode::input, model.folder.string() +
                                          ": this model takes audio, not text: 'lamina run' without "
                                          "--tap takes audio files, and transcribe() of audio.hpp "
                                          "samples");
    if (model.generation->takes_images())
        throw Error(ErrorCode::input, model.folder.string() +
                                          ": this model takes images, not text: 'lamina run' without --tap takes "
                                          "image files, and generate_from_images() of image.hpp images");
    return *model.generation;
}

// Why the encoder does not take sources of so many tokens; empty when it does.
std::string why_no_source(const model::Model &model, const abi::Registry &plugins, size_t tokens) {
    const model::Generation &g = *model.generation;
    try {
        (void)plan::plan_graph(model, model.graphs.at(g.encode), plugins,
                               encode_shapes(g, 1, static_cast<int64_t>(tokens)));
        return "";
    } catch (const Error &e) {
        return e.what();
    }
}

// The first text that is too long. What a graph takes of a length it takes of shorter ones, too.
// The longest source below this length, which the model does not take; 0: it takes none.
size_t longest_source(const model::Model &model, const abi::Registry &plugins, size_t refused) {
    size_t taken = 0;
    while (refused - taken > 1) {
        const size_t middle = taken + (refused - taken) / 2;
        (takes_sources(model, plugins, middle) ? taken : refused) = middle;
    }
    return taken;
}

std::optional<RefusedText> too_long(const model::Model &model, const abi::Registry &plugins,
                                    const std::vector<Ids> &ids) {
    const bool prompts = model.generation->encode.empty();
    size_t longest = 0;
    for (const Ids &text : ids) longest = std::max(longest, text.size());
    if (prompts) {
        const size_t limit = longest_target(model) - model.tokens.start.size(); // which come first
        const auto at = std::find_if(ids.begin(), ids.end(), [&](const Ids &text) { return text.size() > limit; });
        if (at == ids.end()) return std::nullopt;
        return RefusedText{static_cast<size_t>(at - ids.begin()),
                           std::to_string(at->size()) + " tokens; expected at most " + std::to_string(limit) +
                               ", as many as the model has positions for: shorten the text"};
    }
    if (longest == 0 || takes_sources(model, plugins, longest)) return std::nullopt;
    for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i].empty()) continue;
        const std::string why = why_no_source(model, plugins, ids[i].size());
        if (why.empty()) continue;
        const size_t most = longest_source(model, plugins, ids[i].size());
        return RefusedText{
            i, std::to_string(ids[i].size()) + " tokens" +
                   (most == 0 ? ": " + why : "; expected at most " + std::to_string(most) + ": shorten the text")};
    }
    return std::nullopt;
}

// Ids that a text can be made of: each is read back as itself.
Ids plain_ids(const model::Model &model) {
    constexpr size_t enough = 1024;
    const model::TextCodec &codec = model.generation->input();
    const auto marks = [&](int32_t id) {
        const auto begins = [&](const Ids &choice) { return std::ranges::count(choice, id) != 0; };
        return model.generation->encode.empty() &&
               (std::ranges::any_of(model.tokens.start, begins) || std::ranges::count(model.tokens.end, id) != 0);
    };
    Ids out;
    for (int32_t id = 0; id < static_cast<int32_t>(codec.size()) && out.size() < enough; ++id) {
        try {
            if (!marks(id) && codec.encode(codec.decode(Ids{id}, false), false) == Ids{id}) out.push_back(id);
        } catch (const Error &) { // "<pad>" where tokens are characters
            continue;
        }
    }
    return out;
}

} // namespace

bool takes_sources(const model::Model &model, const abi::Registry &plugins, size_t tokens) {
    return why_no_source(model, plugins, tokens).empty();
}

size_t longest_target(const model::Model &model) {
    return static_cast<size_t>(std::min(model.generation->positions, model.generation->context));
}

TextIds read_texts(const model::Model &model, const abi::Registry &plugins, const std::vector<std::string> &texts,
                   const GenerateOptions &options) {
    const model::TextCodec &codec = generation_of(model).input();
    const ChosenTokens chosen = chosen_tokens(model, options);
    TextIds out;
    for (size_t i = 0; i < texts.size() && !out.refused; ++i) {
        try {
            out.ids.push_back(codec.encode(texts[i], options.special_tokens));
            chosen.put_into(out.ids.back());
        } catch (const Error &e) {
            out.refused = RefusedText{i, e.what()};
        }
    }
    if (auto refused = too_long(model, plugins, out.ids)) {
        out.ids.resize(refused->text);
        out.refused = std::move(refused);
    }
    return out;
}

std::vector<Ids> tokenize(const model::Model &model, const abi::Registry &plugins,
                          const std::vector<std::string> &texts, const GenerateOptions &options) {
    TextIds read = read_texts(model, plugins, texts, options);
    if (read.refused)
        throw Error(ErrorCode::input, "text " + std::to_string(read.refused->text + 1) + ": " + read.refused->why);
    return std::move(read.ids);
}

void expect_ids(const model::Model &model, const abi::Registry &plugins, const Ids &ids) {
    const auto tokens = static_cast<int64_t>(generation_of(model).input().size());
    for (size_t i = 0; i < ids.size(); ++i)
        if ((ids[i] < 0 && !model.generation->sees()) || ids[i] >= tokens)
            throw Error(ErrorCode::input, "token " + std::to_string(i) + ": expected an id from 0 to " +
                                              std::to_string(tokens - 1) + ", found " + std::to_string(ids[i]));
    if (const auto refused = too_long(model, plugins, {ids})) throw Error(ErrorCode::input, refused->why);
}

std::vector<std::string> sample_texts(const model::Model &model, const abi::Registry &plugins) {
    const model::TextCodec &codec = generation_of(model).input();
    const Ids plain = plain_ids(model);
    if (plain.empty())
        throw Error(ErrorCode::usage, codec.file() + " has no token that a text can be made of: give the inputs as "
                                                     "tensors");
    std::vector<std::string> texts;
    Random random(0);
    for (size_t length = 11; length > 0 && texts.size() < 2; length /= 2) {
        Ids ids;
        for (size_t i = 0; i < length; ++i) ids.push_back(plain[random.below(plain.size())]);
        const std::string text = codec.decode(ids, false);
        if (!read_texts(model, plugins, {text}).refused) texts.push_back(text);
    }
    return texts;
}

} // namespace lamina::generation
