/* Tables of numbers in text: a line a row, commas, semicolons or blanks between them, and perhaps a line of names. */
#ifndef STI_CLI_FILES_CSV_H
#define STI_CLI_FILES_CSV_H

#include <stdint.h>

typedef struct csv_table {
    int64_t rows, columns;
    double *data; /* [rows][columns] */
    char **names; /* [columns], of the first line; NULL: that has numbers */
} csv_table;

/* Returns NULL, or an error text (report_error.h). Empty lines and those that begin with # are skipped. */
const char *csv_read(const char *path, csv_table *out);
void csv_free(csv_table *table);

#endif
