/* Writes a JSON object to a file or to standard output. */
#ifndef STI_CLI_FILES_JSON_FILE_H
#define STI_CLI_FILES_JSON_FILE_H

#include <jansson.h>

/*
 * `style`: Jansson's flags. Returns NULL, or an error text. The caller keeps the object.
 */
const char *json_file_write(const json_t *o, size_t style, const char *path);
/* The same to standard output. Its errors are reported at the end of the command. */
void json_file_print(const json_t *o, size_t style);

#endif
