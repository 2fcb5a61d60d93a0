/* Answers lines of stdin, as they come, with a model:

       app_skeleton MODEL [DEVICE]

   A model that talks answers each as the first message of a conversation; another continues it, or translates it. */
#include <lamina/lamina.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what) {
    fprintf(stderr, "app_skeleton: %s: %s\n", what, lamina_error());
    return 1;
}

/* Shows a piece of a text as soon as it is there. */
static int show(void *user, const char *piece) {
    (void)user;
    fputs(piece, stdout);
    return fflush(stdout) != 0; /* nobody reads it any more: the text ends */
}

/* `text` as a JSON string, which the caller frees. */
static char *json_string(const char *text) {
    char *const out = malloc(6 * strlen(text) + 3), *end = out;
    if (out == NULL) return NULL;
    *end++ = '"';
    for (; *text != '\0'; ++text) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            end += sprintf(end, "\\%c", c);
        else if (c < 0x20)
            end += sprintf(end, "\\u%04x", c);
        else
            *end++ = (char)c;
    }
    strcpy(end, "\"");
    return out;
}

static int answer(lamina_model *model, const char *line, int *talks) {
    char *text = NULL;
    int result = LAMINA_ERROR_MEMORY;
    char *const content = json_string(line);
    char *const messages = content == NULL ? NULL : malloc(strlen(content) + 40);
    if (messages != NULL) {
        sprintf(messages, "[{\"role\": \"user\", \"content\": %s}]", content);
        result = *talks ? lamina_chat(model, messages, NULL, show, NULL, &text) : LAMINA_ERROR_USAGE;
        if (result == LAMINA_ERROR_USAGE) { /* it has no chat template */
            *talks = 0;
            result = lamina_generate(model, line, NULL, show, NULL, &text);
        }
    }
    free(messages);
    free(content);
    lamina_free(text);
    puts("");
    return result;
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: app_skeleton MODEL [DEVICE]\n");
        return 2;
    }
    char options[100];
    snprintf(options, sizeof options, "{\"device\": \"%s\"}", argc == 3 ? argv[2] : "auto");
    lamina_model *model;
    if (lamina_load(argv[1], options, &model) != LAMINA_SUCCESS) return fail(argv[1]);

    static char line[1 << 16];
    int talks = 1, status = 0;
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0' && answer(model, line, &talks) != LAMINA_SUCCESS) status = fail(line);
    }
    lamina_close(model);
    return status;
}
