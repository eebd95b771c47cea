/*
 * Reads the environment of the process; no other file does.
 *
 *   STET_DISABLE            mechanisms that are switched off
 *   STET_RANGES             ranges for profilers
 *   STET_CHECKED            1: users' kernels are compiled in checked mode
 *   STET_GPU_CODE_FOLDER    code of the library's kernels for GPUs (kernel/gpu/shipped.h)
 *   STET_STAGES             which launches a time step of native physics is (physics/native.h)
 *   STET_PAIR_ROWS          up to how many pairs of geoms of two trees have rows in tables
 *                           (physics/contact/tree_pairs.h)
 *   STET_PARTS              patches that parts of a picture do at a time on a GPU (render/parts.c)
 *   STET_WAIT_FOR_CODE      1: calls on a GPU wait for the code of their model or scene
 *   XDG_CACHE_HOME, HOME    where the user's caches are
 *   PATH, LD_LIBRARY_PATH   passed on to the compiler, and to ffmpeg
 *   VIRTUAL_ENV             Python packages in it may hold libraries
 *   TMPDIR                  where the compiler works
 *   ROS_PACKAGE_PATH, AMENT_PREFIX_PATH    where packages of ROS are that URDF names
 *   STET_NCCL               the file of NCCL or RCCL
 *   STET_GROUP_STAGED       arrays of GPUs never cross between ranks by GPU-aware MPI
 *   OMPI_COMM_WORLD_SIZE, PMI_SIZE, PMIX_RANK    set by MPI's launchers
 *   CC                      the compiler of kernels, if none is named
 */
#ifndef STI_BASE_ENVIRONMENT_H
#define STI_BASE_ENVIRONMENT_H

/* NULL if the variable is not set, or empty. Valid until the environment changes. */
const char *sti_environment(const char *name);

#endif
