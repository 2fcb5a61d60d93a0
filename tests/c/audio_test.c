/* A program in C11 that transcribes a WAV file of 16-bit samples, as samples and as a file, and prints the text. */
#include <lamina/lamina.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 1 << 16 }; /* bytes of a text */

static int fail(const char *what) {
    fprintf(stderr, "audio_test.c: %s; the last error: %s\n", what, lamina_error());
    return 1;
}

static int add_piece(void *user, const char *piece) {
    char *all = user;
    strncat(all, piece, most - 1 - strlen(all));
    return 0;
}

/* The samples behind a header of 44 bytes; the caller frees them. */
static float *samples_of(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) return NULL;
    const long bytes = ftell(file);
    if (bytes < 44 || fseek(file, 44, SEEK_SET) != 0) return NULL;
    *count = (size_t)(bytes - 44) / 2;
    float *samples = malloc(*count * sizeof *samples);
    for (size_t i = 0; samples != NULL && i < *count; ++i) {
        const int low = fgetc(file), high = fgetc(file);
        samples[i] = (float)(int16_t)(low | high << 8) / 32768.0F;
    }
    fclose(file);
    return samples;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    lamina_model *model = NULL;
    if (lamina_load(argv[1], "{\"device\": \"cpu\"}", &model) != LAMINA_SUCCESS) return fail("the model");
    static const char options[] = "{\"max_length\": 9}";
    static char pieces[most];
    char *of_file = NULL, *of_samples = NULL;
    if (lamina_transcribe_file(model, argv[2], options, add_piece, pieces, &of_file) != LAMINA_SUCCESS)
        return fail("the file");
    size_t count = 0;
    float *samples = samples_of(argv[2], &count);
    if (samples == NULL || lamina_transcribe(model, samples, count, 16000, options, NULL, NULL, &of_samples) != 0)
        return fail("the samples");
    free(samples);
    if (strcmp(of_file, of_samples) != 0) return fail("they differ");
    if (strstr(pieces, of_file) == NULL) return fail("the pieces are not the text");
    puts(of_file);
    lamina_free(of_file);
    lamina_free(of_samples);
    if (lamina_transcribe(model, NULL, 5, 16000, NULL, NULL, NULL, &of_samples) != LAMINA_ERROR_USAGE)
        return fail("NULL was taken");
    if (of_samples != NULL) return fail("an error gave a text");
    lamina_close(model);
    return 0;
}
