# cmake -DSOURCE=… -DOUT=… -P bench_commit.cmake: writes the commit that is checked out, as a C header, where it is
# another than before. STET_COMMIT in the environment names it where the sources came without their repository
# (tools/carry.sh).
set(commit unknown)
find_program(git git)
if(DEFINED ENV{STET_COMMIT})
    set(commit "$ENV{STET_COMMIT}")
elseif(git)
    execute_process(COMMAND "${git}" -C "${SOURCE}" describe --always --abbrev=40 --dirty --exclude=*
        OUTPUT_VARIABLE said RESULT_VARIABLE result OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(result EQUAL 0)
        set(commit "${said}")
    endif()
endif()
set(text "/* The commit that was built. */\n#define BENCH_COMMIT \"${commit}\"\n")
set(before)
if(EXISTS "${OUT}")
    file(READ "${OUT}" before)
endif()
if(NOT text STREQUAL before)
    file(WRITE "${OUT}" "${text}")
endif()
