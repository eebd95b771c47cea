/*
 * The entry points of a vendor's run-time compiler, under neutral names. From this list come the table of pointers
 * (rtc.h), its filling at run time (rtc.c), and the messages that name missing ones.
 *
 *   BOTH(name, NVRTC's symbol, hipRTC's symbol, result, (parameters))
 *   CUDA(name, NVRTC's symbol, result, (parameters))                    only NVRTC has it, or needs it
 *   HIP(name, hipRTC's symbol, result, (parameters))                    only hipRTC has it, or needs it
 *
 * A vendor's library must have all of its entry points. Results are 0 or a code that error_text explains. Include this
 * file with the three macros defined; it undefines them.
 */
BOTH(version, nvrtcVersion, hiprtcVersion, int, (int *major, int *minor))
BOTH(error_text, nvrtcGetErrorString, hiprtcGetErrorString, const char *, (int result))
BOTH(create, nvrtcCreateProgram, hiprtcCreateProgram, int,
     (void **program, const char *source, const char *name, int nheader, const char *const *headers,
      const char *const *names))
BOTH(compile, nvrtcCompileProgram, hiprtcCompileProgram, int, (void *program, int noption, const char *const *options))
BOTH(log_size, nvrtcGetProgramLogSize, hiprtcGetProgramLogSize, int, (void *program, size_t *size))
BOTH(log, nvrtcGetProgramLog, hiprtcGetProgramLog, int, (void *program, char *log))
/* Code of one architecture. */
BOTH(code_size, nvrtcGetCUBINSize, hiprtcGetCodeSize, int, (void *program, size_t *size))
BOTH(code, nvrtcGetCUBIN, hiprtcGetCode, int, (void *program, char *code))
BOTH(destroy, nvrtcDestroyProgram, hiprtcDestroyProgram, int, (void **program))
/* Code that the driver compiles further. */
CUDA(ptx_size, nvrtcGetPTXSize, int, (void *program, size_t *size))
CUDA(ptx, nvrtcGetPTX, int, (void *program, char *ptx))
/* Architectures that it can compile for, in ascending order: 75 is sm_75. */
CUDA(arch_count, nvrtcGetNumSupportedArchs, int, (int *count))
CUDA(arch_list, nvrtcGetSupportedArchs, int, (int *archs))
#undef BOTH
#undef CUDA
#undef HIP
