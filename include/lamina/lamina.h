/* Lamina for C, and for every language that calls C: models that write, talk, listen and turn texts into vectors.

       lamina_model *model;
       char *answer;
       if (lamina_load("SmolLM2-135M-Instruct.Q4_1.gguf", NULL, &model) != LAMINA_SUCCESS ||
           lamina_generate(model, "The capital of France is", "{\"max_length\": 5}", NULL, NULL, &answer) != 0) {
           fprintf(stderr, "%s\n", lamina_error());
           return 1;
       }
       puts(answer);
       lamina_free(answer);
       lamina_close(model);

   Link liblamina_c (pkg-config: lamina_c; CMake: Lamina::c), or open liblamina_c.so.1. What is here stays as it is: a
   program works with all later libraries of this number, and new functions and options are only added.

   Texts are UTF-8 and end with a zero. A function returns LAMINA_SUCCESS or the number of an error; lamina_error() then
   says what is wrong, where, what was expected and found, and what to do. What a function gives through its last
   pointers belongs to the caller, who frees it with lamina_free(); after an error, it is NULL or 0. Several threads may
   use a model: they take turns.

   `options` is a JSON object; NULL: none. Options have the names that they have in C++ and Python, and those that
   nobody knows are errors. */
#ifndef LAMINA_LAMINA_H
#define LAMINA_LAMINA_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LAMINA_C_API __attribute__((visibility("default")))
#else
#define LAMINA_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The exit statuses of the command `lamina`. */
enum lamina_result {
    LAMINA_SUCCESS = 0,
    LAMINA_ERROR_FAILURE = 1,     /* anything else */
    LAMINA_ERROR_USAGE = 2,       /* an option or argument that makes no sense here */
    LAMINA_ERROR_INPUT = 3,       /* a bad model or text */
    LAMINA_ERROR_NO_DEVICE = 4,   /* the device is not there, or cannot run this */
    LAMINA_ERROR_MEMORY = 5,      /* host or device memory ran out */
    LAMINA_ERROR_DEVICE_LOST = 6, /* the device stopped answering */
    LAMINA_ERROR_PLUGIN = 8,      /* a plugin is missing, broken or breaks its contract */
    LAMINA_ERROR_UNPROVEN = 9     /* no kernel of a layer has passed its proof on the device */
};

/* Of the last call of this thread that failed; valid until its next one fails. Never NULL. */
LAMINA_C_API const char *lamina_error(void);
/* "0.2.0" */
LAMINA_C_API const char *lamina_version(void);
/* Frees what a function gave. NULL is allowed. */
LAMINA_C_API void lamina_free(void *memory);

/* Lines that the user should see, such as kernels that have failed their proof. Without a function, they go to stderr.
   Any thread may call it, but only one at a time; it may call Lamina itself. Set it before models are loaded. */
typedef void lamina_notice(void *user, const char *line);
LAMINA_C_API void lamina_on_notice(lamina_notice *function, void *user);

/* The devices of this machine, as JSON: [{"id", "name", "kind", "memory_bytes", "unusable"}], where `unusable` lists
   why a device cannot be used. */
LAMINA_C_API int lamina_devices(char **json);

/* A model on a device: a folder, a GGUF file or ORG/NAME. Options: device ("auto", "cpu", "vulkan:0", or several with
   commas between them), precision ("full", "half", "int8"), cache ("f32", "f16", "q8_0": of keys and values),
   plugin_folders (a list of folders). */
typedef struct lamina_model lamina_model;
LAMINA_C_API int lamina_load(const char *path, const char *options, lamina_model **model);
/* After all its calls have returned. NULL is allowed. */
LAMINA_C_API void lamina_close(lamina_model *model);

/* A new piece of a text, in whole characters. Returns 0 to go on; any other value ends the text there. */
typedef int lamina_piece(void *user, const char *piece);

/* Continues a text, or translates it with a model that has an encoder. `piece` is called as the text is written; it may
   be NULL. Options: temperature, top_p and all numbers of sampling (lamina run --help lists them); max_length and
   min_length in tokens; seed; stop (a text or a list); json_schema (a schema), regex or grammar (GBNF), which the text
   must match; special_tokens (false: the text has them itself); reuse (true: what the text has in common with the last
   one is not computed again); guess_ahead (where a text repeats itself, so many tokens are guessed, and checked in one
   step); language and source_language of a model that translates ("fra_Latn"). */
LAMINA_C_API int lamina_generate(lamina_model *model, const char *text, const char *options, lamina_piece *piece,
                                 void *user, char **out);

/* Answers a conversation, in the format that the model was trained for. `messages`: a JSON list of {"role", "content"},
   where a content is a text, or a list of parts {"type": "text", "text"}. What the options leave open is as the model's
   makers suggest. Further options: truncation ("auto": a conversation that is too long leaves out its oldest turns;
   "disabled": it is an error) and variables (an object: more that the model's chat template knows, such as tools).
   `reuse` is true unless it is given. */
LAMINA_C_API int lamina_chat(lamina_model *model, const char *messages, const char *options, lamina_piece *piece,
                             void *user, char **out);

/* What is said in audio, by a model such as Whisper or wav2vec 2.0: `count` samples of one channel, from -1 to 1,
   `rate` of them a second. The audio may be of any length, and is cut into windows. `piece` is called as the text is
   written; if it ends it, `text` is what there is so far. Options: language and task, which a model may take ("en";
   "transcribe", "translate"), temperature, top_p and all numbers of sampling, seed, max_length (tokens of a window);
   format: what `text` gets, unless `piece` ends it: "text", "json" ({"text", "segments": [{"begin", "end", "text"}]},
   in seconds), "srt" or "vtt"; timestamps: what these tell, "segments" (the default) or "words" of models such
   as Whisper, "words" or "characters" of those such as wav2vec 2.0. */
LAMINA_C_API int lamina_transcribe(lamina_model *model, const float *samples, size_t count, int64_t rate,
                                   const char *options, lamina_piece *piece, void *user, char **text);
/* The same of a file: WAV, FLAC, OGG, MP3 and the other formats of libsndfile. */
LAMINA_C_API int lamina_transcribe_file(lamina_model *model, const char *path, const char *options, lamina_piece *piece,
                                        void *user, char **text);

/* A vector for each text: `vectors` gets count * width numbers, one vector after the other. Options: truncate (true: a
   text that is too long is cut), windows (true: it is read in windows, and its vector is the mean of theirs), prompt
   (one of the model's, by its name; "" is none), batch (how many texts are processed together). */
LAMINA_C_API int lamina_embed(lamina_model *model, const char *const *texts, size_t count, const char *options,
                              float **vectors, size_t *width);

/* The token ids of a text. `special`: whether to add the tokens that the model expects around a text. */
LAMINA_C_API int lamina_tokenize(lamina_model *model, const char *text, int special, int32_t **ids, size_t *count);
/* The text of token ids that the model writes, or reads if it writes none. */
LAMINA_C_API int lamina_detokenize(lamina_model *model, const int32_t *ids, size_t count, int skip_special,
                                   char **text);

#ifdef __cplusplus
}
#endif

#endif
