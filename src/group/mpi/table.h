/*
 * What the module over MPI (module.c) gives to the library. MPI's types differ between its implementations, so that
 * whatever includes mpi.h is a library of its own, which is opened at run time, where there is one.
 */
#ifndef STI_GROUP_MPI_TABLE_H
#define STI_GROUP_MPI_TABLE_H

#include "stet/group.h"

enum { STI_MPI_TABLE = 2 }; /* version of this struct */
#define STI_MPI_MODULE "libstet_mpi.so"
#define STI_MPI_SYMBOL "stet_mpi_table"

typedef struct sti_mpi_table {
    int version;
    /* Returns 0, or writes the reason. */
    int (*open)(const void *communicator, bool joins, stet_transport *out, char *why, size_t size);
} sti_mpi_table;

#endif
