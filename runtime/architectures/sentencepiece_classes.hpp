// The classes of tokenizers that transformers makes of a SentencePiece model. Each throws Error(input).
#pragma once

#include "architectures/sentencepiece_steps.hpp"

namespace lamina::architectures::sentencepiece {

[[nodiscard]] TokenizerParts llama(const Source &source);
[[nodiscard]] TokenizerParts gemma(const Source &source);
[[nodiscard]] TokenizerParts plain(const Source &source); // no class of its own: as the file says

[[nodiscard]] TokenizerParts xlm_roberta(const Source &source);
[[nodiscard]] TokenizerParts deberta_v2(const Source &source);
[[nodiscard]] TokenizerParts t5(const Source &source);
[[nodiscard]] TokenizerParts mbart_50(const Source &source);
[[nodiscard]] TokenizerParts pegasus(const Source &source);

} // namespace lamina::architectures::sentencepiece
