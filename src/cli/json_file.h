/* A JSON object as a file, or on standard output. */
#ifndef STI_CLI_JSON_FILE_H
#define STI_CLI_JSON_FILE_H

#include <jansson.h>

/*
 * `style`: Jansson's flags. NULL, or what is wrong: one sentence (borrowed until the next call). The object is the
 * caller's.
 */
const char *json_file_write(const json_t *o, size_t style, const char *path);
/* The same on standard output, whose errors show at the command's end. */
void json_file_print(const json_t *o, size_t style);

#endif
