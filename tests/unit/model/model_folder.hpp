// A small valid encoder-decoder model, and folders that contain modified copies of it.
#pragma once

#include "model/model.hpp"
#include "model/safetensors.hpp"
#include "temporary_folder.hpp"

#include <stdexcept>

namespace lamina::model {

inline constexpr const char *small_model = R"({
  "format": "lamina/1", "name": "small", "summary": "for tests",
  "graphs": {
    "encode": {
      "inputs": {"letters": {"dtype": "i32", "dims": "B S"}, "lengths": {"dtype": "i32", "dims": "B"}},
      "layers": [
        {"name": "embedding", "type": "embedding", "inputs": {"ids": "letters"}, "params": {"scale": 2.5}, "as": "x"},
        {"repeat": 2, "layers": [
          {"name": "{i}.norm", "type": "layer_norm", "inputs": {"x": "x"}},
          {"name": "{i}.attention", "type": "attention", "inputs": {"k": "x"}, "params": {"heads": 2, "causal": true}, "as": "x"}
        ]},
        {"name": "norm", "type": "layer_norm"}
      ],
      "outputs": {"memory": "norm"}
    },
    "decode": {
      "inputs": {"phones": {"dtype": "i32", "dims": "B  T"}, "position": {"dtype": "i32", "dims": "B"},
                 "memory": {"dtype": "f32", "dims": "B S 4"}, "lengths": {"dtype": "i32", "dims": "B"}},
      "layers": [
        {"name": "out.embedding", "type": "embedding", "inputs": {"ids": "phones"}, "weights": {"table": "embedding.table"}},
        {"name": "out.attention", "type": "attention", "inputs": {"k": "memory"}, "params": {"mode": "plain"}},
        {"name": "generator", "type": "linear"}
      ],
      "outputs": {"logits": "generator"}
    }
  },
  "generation": {
    "encode": "encode", "decode": "decode", "source_ids": "letters", "source_lengths": "lengths",
    "target_ids": "phones", "position": "position", "logits": "logits", "start": "<s>", "end": "</s>", "max_length": 8,
    "source": {"vocabulary": "letters.txt", "split": "characters", "lowercase": true},
    "target": {"vocabulary": "phones.txt", "split": "words"}
  }
})";

// small_model with every `from` replaced. Fails if `from` does not occur.
inline std::string changed(const std::string &from, const std::string &to) {
    std::string text = small_model;
    size_t at = text.find(from);
    if (at == std::string::npos) throw std::logic_error("small_model has no " + from);
    for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
    return text;
}

class ModelFolder : public TemporaryFolder {
  public:
    explicit ModelFolder(const std::string &json = small_model) {
        write("model.json", json);
        write("letters.txt", "a\nb\n");
        write("phones.txt", "<s>\n</s>\nAH\n");
        write_safetensors(path() / "model.safetensors", {{"embedding.table", Tensor({DType::f16, {3, 4}})}});
    }
    [[nodiscard]] std::shared_ptr<const Model> load() const { return Model::load(path()); }
};

} // namespace lamina::model
