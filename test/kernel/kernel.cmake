# The tests of kernels, and of the language.
# Of the language's functions, compiled for each instruction set with the very flags of the library's kernels.
stet_probe_kernels(test/kernel/lang/lang_probe.k.h LANG_PROBES)
stet_tests(kernel/lang bits kernelgen lang_list)
stet_test(kernel/lang/lang SOURCES ${LANG_PROBES})
stet_test(kernel/lang/math SOURCES ${LANG_PROBES})
stet_test(kernel/lang/pilot SOURCES kernel/lang/permuted.c)
stet_tests(kernel/compile cache_folder cache_kernel cached_compile checked compiler_errors user user_check user_names
    user_source)
stet_tests(kernel/launch args binding binding_use kernel launch_observer signature team_memory times trace trace_user)
stet_tests(kernel/record external_capture foreign fuse graph list random_list record recording springs)
stet_tests(kernel/gpu fused_fault fused_keep fused_program)
stet_test_doubles(kernel/bits kernel/fused_fault kernel/fused_keep kernel/fused_program kernel/springs kernel/times)
stet_test_sees_gpu(kernel/bits kernel/fused_keep kernel/fused_program kernel/springs kernel/times)
include(kernel/check/checker.cmake)
include(kernel/gpu/gpu.cmake)
