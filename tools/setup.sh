#!/usr/bin/env bash
# Installs what is missing to build, test or check stet, and says so in one line each.
#
#   tools/setup.sh [build|python|test|test-mujoco3|learners|clients|corpus|asan|tsan|lint|bench|bench-gym|chart|
#                  docs|notebooks|wheel]
#
# Two kinds of things: packages of the system (apt-get, where this user has the right; else one sentence names them),
# and wheels in .venv/ beside this script's parent (pinned with hashes). What is there already is only looked at: a
# second run touches no network. MUJOCO_DIR, an unpacked MuJoCo release or wheel folder, replaces the wheel of MuJoCo;
# test-mujoco3 puts the wheel of MuJoCo 3 into .venv/mujoco3/, beside the one that everything else is built with, and
# corpus the models of other projects into .venv/corpus/ (make corpus, make similarity), bench-gym EnvPool into
# .venv/envpool/ (bench/gym_envs.py), clients mjlab into .venv/clients/ (make test-clients), and bench the ray
# tracer that meshes are compared with into .venv/bench/.
#
# Invariants: nothing outside .venv/ is written except by apt-get; every failure is one sentence and exit code 2.
set -u
cd "$(dirname "$0")/.." || exit 2

tier=${1:-build}
venv=.venv
cmake_least=3.25

fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 2
}

say() { printf 'setup: %s\n' "$*"; }

have() { command -v "$1" >/dev/null 2>&1; }

# True where version $1 is at least version $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

cmake_version() { "$1" --version 2>/dev/null | sed -n '1s/.* version \([0-9.]*\).*/\1/p'; }

compiles() { # compiles COMPILER FLAGS...: can it build and link an empty program with these flags?
    local compiler=$1
    shift
    printf 'int main(void) { return 0; }\n' | "$compiler" -x c - -o /dev/null "$@" >/dev/null 2>&1
}

# ---- packages of the system ------------------------------------------------------------------------------------------

packages=()
reasons=()

want() { # want PACKAGE REASON
    packages+=("$1")
    reasons+=("$1 ($2)")
}

# The reasons of all that is wanted, with commas.
listed() {
    local text
    text=$(printf ', %s' "${reasons[@]}")
    printf '%s\n' "${text#, }"
}

want_build() {
    { have cc || have gcc; } && [ -e /usr/include/stdio.h ] ||
        { want gcc "C compiler"; want libc6-dev "C library's headers"; }
    have make || want make "runs the build"
    have cmake || want cmake "the build"
    have pkg-config || want pkg-config "finds libraries"
    pkg-config --exists libpng 2>/dev/null || want libpng-dev "writes pictures"
    pkg-config --exists jansson 2>/dev/null || want libjansson-dev "reads and writes JSON"
    pkg-config --exists minizip 2>/dev/null || want libminizip-dev "reads and writes .npz files"
    need_venv && ! python_for_venv >/dev/null && want python3-venv "environment for the pinned wheels"
}

want_test() {
    have c++ || have g++ || want g++ "compiles the public headers as C++"
    pkg-config --exists cmocka 2>/dev/null || want libcmocka-dev "the tests' framework"
}

want_python() {
    have c++ || have g++ || want g++ "compiles the Python package"
    local python=$venv/bin/python
    [ -x "$python" ] || python=$(python_for_venv) || return 0
    local header='os.path.join(sysconfig.get_path("include"), "Python.h")'
    "$python" -c "import os, sys, sysconfig; sys.exit(not os.path.exists($header))" 2>/dev/null ||
        want python3-dev "headers of Python, for the Python package"
}

# Installs packages that some tests use where this system has them and this user may install them; without them those
# tests are skipped, and say so.
offer() { # offer WHAT-FOR TESTS PACKAGE...
    local what=$1 tests=$2 as_root=()
    shift 2
    apt-cache show "$@" >/dev/null 2>&1 || return 0
    if [ "$(id -u)" -ne 0 ]; then
        have sudo && sudo -n true 2>/dev/null || return 0
        as_root=(sudo -n)
    fi
    say "installing with apt-get: $* ($what)"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o=Dpkg::Use-Pty=0 install -y \
        --no-install-recommends "$@" >/dev/null 2>&1 || say "apt-get could not install them: $tests are skipped"
}

has_library() { /sbin/ldconfig -p 2>/dev/null | grep -q "$@"; }

# hipRTC (80 MB, and LLVM's library).
offer_hiprtc() {
    has_library -e 'libamdhip64\.so' -e 'libhiprtc\.so' ||
        offer "compile kernels for AMD's GPUs in the tests" "the tests that compile for AMD's GPUs" \
            libamdhip64-5 libhiprtc-builtins5
}

# MuJoCo's own renderer needs OpenGL (3 MB, and LLVM's library, 23 MB).
offer_osmesa() {
    has_library -e 'libOSMesa\.so' ||
        offer "pictures of MuJoCo's own renderer" "comparisons with MuJoCo's renderer" libosmesa6
}

# Encoders of videos (160 MB with its libraries).
offer_ffmpeg() {
    have ffmpeg || offer "videos of stet run in the tests" "the tests of what ffmpeg makes" ffmpeg
}

# Runs over several processes (Open MPI: 40 MB with its libraries).
offer_mpi() {
    have mpicc && have mpirun ||
        offer "runs over several processes in the tests" "the tests of runs over several processes" libopenmpi-dev \
            openmpi-bin
}

# Counts of instructions (78 MB, and the C library's debug symbols).
offer_valgrind() {
    have valgrind || offer "counts of instructions in the tests" "the test of instruction counts" valgrind
}

# A browser for the page of stet.view (300 MB with its libraries).
offer_chromium() {
    have chromium || have chromium-browser || have google-chrome ||
        offer "the page of stet view in the tests" "the tests in a browser" chromium
}

want_clang() {
    have clang || want clang "$1"
}

want_tsan() {
    want_clang "the thread sanitizer's build"
    have llvm-symbolizer || want llvm "names the lines in the sanitizer's reports"
}

# From Debian 12 on the sanitizers' run-time library is a package of its own; before, it came with clang. Asked once
# clang is there, when the lists of packages are sure to be.
want_clang_runtime() {
    if ! compiles clang -fsanitize=thread && apt-cache show libclang-rt-dev >/dev/null 2>&1; then
        want libclang-rt-dev "the thread sanitizer's run-time library"
    fi
}

want_lint() {
    have clang-format || want clang-format "checks the layout of the source"
    have clang-tidy || want clang-tidy "checks the source"
}

install_packages() { # installs all that is wanted by now
    [ ${#packages[@]} -gt 0 ] || return 0
    local list=${packages[*]} as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if have sudo && sudo -n true 2>/dev/null; then
            as_root=(sudo -n)
        else
            fail "missing: $(listed); install them with 'sudo apt-get install $list'" \
                "(or your system's names for them), then run this again"
        fi
    fi
    have apt-get ||
        fail "missing: $(listed); this system has no apt-get: install what corresponds to them, then run this again"
    say "installing with apt-get: $(listed)"
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o=Dpkg::Use-Pty=0)
    local get=("${apt[@]}" install -y --no-install-recommends "${packages[@]}")
    # The lists may be absent or old: refresh them only if the first attempt fails.
    "${get[@]}" >/dev/null 2>&1 || {
        "${apt[@]}" update >/dev/null 2>&1
        "${get[@]}" >/dev/null || fail "apt-get could not install: $list (its message is above);" \
            "install them by hand, then run this again"
    }
    packages=()
    reasons=()
}

# ---- wheels ----------------------------------------------------------------------------------------------------------

# The first Python that can make an environment; the system's own comes after whatever the path names.
python_for_venv() {
    local python
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import ensurepip, venv, sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1 && {
            printf '%s\n' "$python"
            return 0
        }
    done
    return 1
}

need_mujoco_wheel() { [ -z "${MUJOCO_DIR:-}" ]; }

need_cmake_wheel() { have cmake && ! at_least "$(cmake_version cmake)" $cmake_least; }

need_python_wheels() {
    case $tier in python | test | learners | clients | bench-gym | docs | notebooks | wheel) true ;; *) false ;; esac
}

need_mujoco3_wheel() { [ "$tier" = test-mujoco3 ]; }

need_test_wheels() {
    case $tier in
        python | test | test-mujoco3 | learners | clients | corpus | asan | tsan | bench-gym | docs | notebooks | wheel)
            true
            ;;
        *) false ;;
    esac
}

need_jax() { [ "$tier" = test ] || [ "$tier" = learners ]; }

need_clients() { [ "$tier" = clients ]; }

need_learners() { [ "$tier" = learners ]; }

need_corpus_wheels() { [ "$tier" = corpus ]; }

need_envpool() { [ "$tier" = bench-gym ]; }

need_chart_wheels() { [ "$tier" = chart ]; }

need_docs_wheels() { [ "$tier" = docs ]; }

need_notebook_wheels() { [ "$tier" = notebooks ]; }

need_auditwheel() { [ "$tier" = wheel ]; }

need_bench_wheels() { [ "$tier" = bench ] && [ "$(uname -sm)" = "Linux x86_64" ]; }

need_venv() {
    need_mujoco_wheel || need_mujoco3_wheel || need_cmake_wheel || need_test_wheels || need_chart_wheels ||
        need_bench_wheels
}

make_venv() {
    "$venv/bin/python" -c 'import pip' >/dev/null 2>&1 && return 0
    local python
    python=$(python_for_venv) ||
        fail "no Python from 3.10 on can make an environment: install python3 and python3-venv, or set MUJOCO_DIR"
    say "making a Python environment in $venv/ for the pinned wheels"
    rm -f "$venv"/.stet-*
    "$python" -m venv --clear "$venv" || fail "could not make the Python environment $venv/ (message above)"
}

# Two packages bring MuJoCo into the same folder, and each would leave files of another release there.
remove_other_mujoco() {
    local packages=()
    for package in mujoco mujoco-core; do
        "$venv/bin/python" -m pip show --quiet $package >/dev/null 2>&1 && packages+=("$package")
    done
    [ ${#packages[@]} -gt 0 ] || return 0
    "$venv/bin/python" -m pip uninstall --quiet --disable-pip-version-check -y "${packages[@]}" ||
        fail "pip could not remove MuJoCo from $venv/ (its message is above); remove $venv/ and run this again"
}

# Installs the wheels of tools/$1 once; the stamp is the hash of that list, kept in the environment itself.
wheels() { # wheels LIST WHAT ADVICE [PIP-OPTION...]
    local list=tools/$1 stamp=$venv/.stet-$1 now
    now=$(sha256sum <"$list")
    [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$now" ] && return 0
    make_venv
    [ "$1" != requirements.txt ] || remove_other_mujoco
    say "installing $2 into $venv/ (pip, $list)"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
        --only-binary :all: "${@:4}" -r "$list" || fail "pip could not install $2 (its message is above); $3"
    printf '%s\n' "$now" >"$stamp"
}

check_mujoco_dir() {
    advice="set it to an unpacked MuJoCo release, or unset it to have the pinned wheel installed"
    [ -d "$MUJOCO_DIR" ] || fail "MUJOCO_DIR is '$MUJOCO_DIR', which is not a folder: $advice"
    [ -e "$MUJOCO_DIR/include/mujoco/mujoco.h" ] ||
        fail "MUJOCO_DIR is '$MUJOCO_DIR', which has no include/mujoco/mujoco.h: $advice"
}

install_wheels() {
    if need_mujoco_wheel; then
        wheels requirements.txt "MuJoCo's library (loads the scenes)" \
            "without a network, set MUJOCO_DIR to an unpacked MuJoCo release"
    else
        check_mujoco_dir
    fi
    if need_mujoco3_wheel; then
        wheels requirements-mujoco3.txt "MuJoCo 3 (stet is tested with it, too)" \
            "it is needed by 'make test-mujoco3' only" --target "$venv/mujoco3" --upgrade
    fi
    if need_cmake_wheel; then
        wheels requirements-cmake.txt "CMake (this system's, $(cmake_version cmake), is older than $cmake_least)" \
            "install CMake $cmake_least or later by hand"
    fi
    if need_test_wheels; then
        wheels requirements-test.txt "the tests' models, and what reads arrays and compares pictures" \
            "they are needed by 'make test' only"
    fi
    if need_corpus_wheels; then
        wheels requirements-corpus.txt "models of other projects" \
            "they are needed by the test physics/corpus only" --target "$venv/corpus" --upgrade
    fi
    if need_jax; then
        wheels requirements-jax.txt "JAX for CPUs (tests of stet.jax; 430 MB)" "it is needed by 'make test' only"
    fi
    if need_learners; then
        wheels requirements-learners.txt "PyTorch and learners of other projects (4.5 GB, with CUDA's libraries)" \
            "they are needed by 'make test-learners' only (Linux on x86_64, CPython 3.11 or later)"
    fi
    if need_clients; then
        wheels requirements-clients.txt "mjlab and what it needs (6 GB, with CUDA's libraries)" \
            "they are needed by 'make test-clients' only (Linux on x86_64, CPython 3.11)" \
            --target "$venv/clients" --upgrade
    fi
    if need_envpool; then
        wheels requirements-bench-gym.txt "EnvPool, to measure stet's environments beside it" \
            "it is needed by bench/gym_envs.py only (x86_64, CPython 3.11)" --target "$venv/envpool" --upgrade
    fi
    if need_docs_wheels; then
        wheels requirements-docs.txt "what makes pages of docstrings" "it is needed by 'make docs' only"
    fi
    if need_notebook_wheels; then
        wheels requirements-notebooks.txt "what runs notebooks" \
            "it is needed by the test python/notebooks only (x86_64, CPython 3.11)"
    fi
    if need_auditwheel; then
        wheels requirements-wheel.txt "what makes a wheel run on other Linuxes" \
            "it is needed by 'make wheel' only (x86_64)"
    fi
    if need_chart_wheels; then
        wheels requirements-chart.txt "what draws charts" "it is needed by 'make chart' only"
    fi
    if need_bench_wheels; then
        wheels requirements-bench.txt "Embree (pictures of meshes are compared with it)" \
            "it is needed by 'stet bench render' only" --target "$venv/bench" --upgrade
    fi
    if need_python_wheels; then
        wheels requirements-python.txt "what builds and tests the Python package" \
            "they are needed by 'make python' and 'make test' only"
    fi
}

# ---- all of it -------------------------------------------------------------------------------------------------------

want_build
case $tier in
    build | bench | chart) ;;
    python | bench-gym | docs | notebooks | wheel) want_python ;;
    test | learners | clients) want_test; want_python ;;
    asan | corpus | test-mujoco3) want_test ;;
    tsan) want_test; want_tsan ;;
    lint) want_test; want_clang "compiles the public headers"; want_lint ;;
    *) fail "no such set '$tier': use build, python, test, test-mujoco3, learners, clients, corpus, asan, tsan, lint," \
        "bench, bench-gym, chart, docs, notebooks or wheel" ;;
esac
install_packages
if [ "$tier" = test ] || [ "$tier" = bench ]; then
    offer_osmesa
fi
if [ "$tier" = test ]; then
    offer_hiprtc
    offer_ffmpeg
    offer_mpi
    offer_valgrind
    offer_chromium
fi
if [ "$tier" = tsan ]; then
    want_clang_runtime
    install_packages
fi
if need_venv; then
    # One at a time: two builds of one checkout may start together.
    mkdir -p "$venv" || fail "cannot write the folder $venv/ here"
    exec 9>"$venv.lock"
    flock 9
fi
install_wheels
