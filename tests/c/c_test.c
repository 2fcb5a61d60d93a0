/* A program in C11: errors, and texts of the model g2p. */
#include "lamina_1.0.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, const char *what, int line) {
    if (holds) return;
    fprintf(stderr, "c_test.c:%d: %s; the last error: %s\n", line, what, lamina_error());
    ++failures;
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)
#define EXPECT_TEXT(found, wanted) expect((found) != NULL && strcmp(found, wanted) == 0, found, __LINE__)

struct pieces {
    char text[100];
    int left; /* until the text is stopped; -1: never */
};

static int add_piece(void *user, const char *piece) {
    struct pieces *all = user;
    strncat(all->text, piece, sizeof all->text - strlen(all->text) - 1);
    return all->left > 0 && --all->left == 0;
}

static void count_lines(void *user, const char *line) {
    (void)line;
    ++*(int *)user;
}

static void test_errors(const char *folder) {
    lamina_model *model = (lamina_model *)1;
    EXPECT(lamina_load("no such model", NULL, &model) == LAMINA_ERROR_INPUT);
    EXPECT(model == NULL);
    EXPECT(strstr(lamina_error(), "no such model") != NULL);
    EXPECT(lamina_load(folder, "{\"device\": \"gpu7\"}", &model) == LAMINA_ERROR_USAGE ||
           lamina_load(folder, "{\"device\": \"gpu7\"}", &model) == LAMINA_ERROR_NO_DEVICE);
    EXPECT(strstr(lamina_error(), "gpu7") != NULL);
    EXPECT(lamina_load(folder, "{\"devices\": \"cpu\"}", &model) == LAMINA_ERROR_INPUT);
    EXPECT(strstr(lamina_error(), "options") != NULL && strstr(lamina_error(), "'device'") != NULL);
    EXPECT(lamina_load(folder, "{", &model) == LAMINA_ERROR_INPUT);
    EXPECT(lamina_load(NULL, NULL, &model) == LAMINA_ERROR_USAGE);
    EXPECT(lamina_load(folder, NULL, NULL) == LAMINA_ERROR_USAGE);
}

static void test_texts(lamina_model *model) {
    char *text = NULL;
    EXPECT(lamina_generate(model, "vulkan", NULL, NULL, NULL, &text) == LAMINA_SUCCESS);
    EXPECT_TEXT(text, "V AH1 L K AH0 N");
    lamina_free(text);

    struct pieces all = {"", -1}, some = {"", 2};
    EXPECT(lamina_generate(model, "vulkan", NULL, add_piece, &all, &text) == LAMINA_SUCCESS);
    EXPECT_TEXT(text, "V AH1 L K AH0 N");
    EXPECT_TEXT(all.text, text);
    lamina_free(text);
    EXPECT(lamina_generate(model, "vulkan", NULL, add_piece, &some, &text) == LAMINA_SUCCESS);
    EXPECT_TEXT(text, some.text);
    EXPECT(strlen(some.text) > 0 && strlen(some.text) < strlen(all.text));
    lamina_free(text);

    EXPECT(lamina_generate(model, "vulkan", "{\"max_length\": 2}", NULL, NULL, &text) == LAMINA_SUCCESS);
    EXPECT_TEXT(text, "V AH1");
    lamina_free(text);
    EXPECT(lamina_generate(model, "vulkan", "{\"top_p\": 2}", NULL, NULL, &text) == LAMINA_ERROR_INPUT);
    EXPECT(text == NULL);
    EXPECT(strstr(lamina_error(), "/top_p") != NULL);
    EXPECT(lamina_generate(model, "v4", NULL, NULL, NULL, &text) == LAMINA_ERROR_INPUT);
    EXPECT(strstr(lamina_error(), "'4'") != NULL);
    EXPECT(lamina_generate(model, NULL, NULL, NULL, NULL, &text) == LAMINA_ERROR_USAGE);
    EXPECT(lamina_generate(NULL, "vulkan", NULL, NULL, NULL, &text) == LAMINA_ERROR_USAGE);
    EXPECT(lamina_chat(model, "[{\"role\": \"user\", \"content\": \"Hi\"}]", NULL, NULL, NULL, &text) ==
           LAMINA_ERROR_USAGE);
}

static void test_tokens(lamina_model *model) {
    int32_t *ids = NULL;
    size_t count = 0;
    EXPECT(lamina_tokenize(model, "vulkan", 0, &ids, &count) == LAMINA_SUCCESS);
    EXPECT(count == 6);
    lamina_free(ids);
    EXPECT(lamina_tokenize(model, "v4", 0, &ids, &count) == LAMINA_ERROR_INPUT);
    EXPECT(ids == NULL && count == 0);
    char *text = NULL;
    EXPECT(lamina_detokenize(model, NULL, 0, 1, &text) == LAMINA_SUCCESS);
    EXPECT_TEXT(text, "");
    lamina_free(text);
    const int32_t wrong[] = {1 << 30, -5};
    EXPECT(lamina_detokenize(model, wrong, 2, 1, &text) == LAMINA_ERROR_INPUT);
    EXPECT(text == NULL);
    EXPECT(lamina_detokenize(model, NULL, 2, 1, &text) == LAMINA_ERROR_USAGE);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    int lines = 0;
    lamina_on_notice(count_lines, &lines);
    EXPECT(lamina_error()[0] == '\0');
    EXPECT(lamina_version()[0] >= '0' && lamina_version()[0] <= '9');
    char *devices = NULL;
    EXPECT(lamina_devices(&devices) == LAMINA_SUCCESS);
    EXPECT(devices != NULL && strstr(devices, "\"cpu\"") != NULL);
    lamina_free(devices);
    lamina_free(NULL);
    lamina_close(NULL);
    test_errors(argv[1]);
    lamina_model *model = NULL;
    EXPECT(lamina_load(argv[1], "{\"device\": \"cpu\"}", &model) == LAMINA_SUCCESS);
    if (model != NULL) {
        test_texts(model);
        test_tokens(model);
    }
    lamina_close(model);
    return failures == 0 ? 0 : 1;
}
