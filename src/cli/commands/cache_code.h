/* Code of the library's kernels for GPUs that is compiled before it is needed: what of `stet cache` is about it. */
#ifndef STI_CLI_COMMANDS_CACHE_CODE_H
#define STI_CLI_COMMANDS_CACHE_CODE_H

#include <jansson.h>

/*
 * `stet cache fill`: compiles for the architectures of a list with commas (NULL: those of this machine's GPUs) into a
 * cache's folder (NULL: the default one) or, if `ship` is not NULL, into a folder to be shipped.
 */
int cache_fill(const char *names, const char *folder, const char *ship);

/* The folder of shipped code, how large it is, and how much of what a first run needs it has for which architecture. */
json_t *cache_shipped_json(void);
void cache_shipped_print(const json_t *shipped);

#endif
