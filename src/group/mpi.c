/*
 * Finds the module over MPI (mpi/table.h): beside the library or the command, where this build has one.
 */
#include "base/environment.h"
#include "base/error.h"
#include "base/shared_library.h"
#include "group/group.h"
#include "group/mpi/table.h"

#include <stdlib.h>
#include <string.h>

static const char *const module_names[] = {STI_MPI_MODULE, NULL};
static const sti_library_names module = {.what = "MPI", .names = module_names};

bool stet_mpi_is_launched(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
        if (sti_environment(names[k])) return true;
    return false;
}

stet_result sti_mpi_check_launcher(const stet_transport *t)
{
    const char *size = sti_environment("OMPI_COMM_WORLD_SIZE"), *other = sti_environment("PMI_SIZE");
    if (t->nrank > 1 || atoi(size ? size : other ? other : "1") <= 1) return STET_OK;
    return sti_error(STET_ERROR_UNSUPPORTED,
                     "MPI: the launcher started %s processes, and each of them is alone: it is the launcher of another "
                     "MPI than the one that stet was built with; use that one's mpirun",
                     size ? size : other);
}

stet_result stet_transport_open_mpi(const void *communicator, bool joins, stet_transport *out)
{
    sti_library library;
    char why[400] = "no reason given";
    if (!out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_transport_open_mpi: out must not be NULL");
    *out = (stet_transport){.rank = -1};
    if (sti_library_open(&module, NULL, &library) != STET_OK) {
        const char *reason = strstr(stet_get_last_error(), "; not usable: ");
        if (reason) return sti_error(STET_ERROR_UNSUPPORTED, "MPI: its library is not installed%s", reason);
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "MPI: this build of stet has no module for it (%s); build stet where MPI is installed "
                         "(Debian: libopenmpi-dev or libmpich-dev)",
                         STI_MPI_MODULE);
    }
    const sti_mpi_table *table = sti_library_symbol(&library, STI_MPI_SYMBOL);
    if (!table || table->version != STI_MPI_TABLE)
        return sti_error(STET_ERROR_UNSUPPORTED, "MPI: %s is of another build of stet; install both from one build",
                         library.file);
    /* The library stays open: MPI has threads and functions to call at the end of the process. */
    if (table->open(communicator, joins, out, why, sizeof why) == 0) return STET_OK;
    return sti_error(STET_ERROR_UNSUPPORTED, "MPI: it cannot be used: %s", why);
}
