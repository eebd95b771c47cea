# The front door: each target installs what it needs (tools/setup.sh says what), configures with CMake and does its
# work.
#
#   make            builds build/stet                   make asan   the tests under ASan and UBSan
#   make run        runs the shipped hand scene         make tsan   the tests under TSan (Clang)
#   make test       builds and runs all tests           make lint   formatting, clang-tidy, layers, headers
#   make bench      runs the benchmarks                 make clean  removes build/ (what was installed stays)
#   make python     builds the Python package and installs it into .venv/ (for your own: pip install .)
#   make test-mujoco3  the tests of models, worlds and steps, and a run, with MuJoCo 3
#                   (make test MUJOCO_DIR=… runs all tests with any release)
#   make test-learners  the tests that use PyTorch, before a change of the Python package lands: installs it first
#                   (4.3 GB; Linux on x86_64)
#   make test-clients   tasks of mjlab's on stet beside the same on mujoco_warp, in a quarter of an hour: installs
#                   mjlab first (6 GB; Linux on x86_64, CPython 3.11)
#   make corpus     compares native physics with MuJoCo on models of other projects (tools/corpus.txt); writes
#                   bench/results/corpus.md
#   make pace        times native physics and mj_step on the same models, hours; writes bench/results/pace.md (PACE: the
#                   result file, without .json, which is added to; a file of measured costs: bench/pace.py fit)
#   make similarity  compares pictures with MuJoCo's on the same models; writes bench/results/similarity.md
#   make chart      draws doc/frame.png from result files (CHART: their names in bench/results/, without .json)
#   make gallery    draws doc/gallery.md: each shipped scene and task
#   make docs       pages of the Python package's docstrings, in build/api/, and of the mechanisms, build/mechanisms.md
#   make test-gpu   the tests and the GPU's sanitizers on a machine with an NVIDIA GPU (tools/test_gpu.sh)
#
# .ci/run leaves out of these what takes long; before a release: make asan, make tsan, make test LABEL=whole, make lint.
#
# Variables: BUILD (folder), JOBS, LABEL (only the tests with this label: short, long, race, memory, or whole, which
# takes hours), RUN (arguments of make run), BENCH (arguments of make bench), CMAKE_FLAGS (more settings for CMake), CC
# (compiler; needs a BUILD of its own).

BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
LABEL ?=
RUN ?= scenes/hand.xml --worlds 16 --size 240x200 --control noise:0.4 --out out
BENCH ?=
PACE ?= epyc-pace
CHART ?= epyc-avx512-frame-16 epyc-avx512-frame-64
CMAKE_FLAGS ?=

# The environment's own CMake is there only where the system's is too old (tools/setup.sh).
cmake = $$(ls .venv/bin/cmake 2>/dev/null || echo cmake)
ctest = $$(ls .venv/bin/ctest 2>/dev/null || echo ctest)
with_label = $(if $(LABEL),-L '^$(LABEL)$$',-LE '^whole$$')

# configure_tree FOLDER, FLAGS: quietly; errors are shown. Of flags that stand twice the last one counts.
define configure_tree
@mkdir -p $(1)
@$(cmake) -S . -B $(1) -DMUJOCO_DIR="$(MUJOCO_DIR)" -DSTET_INSTRUCTION_SETS=all $(2) $(CMAKE_FLAGS) --log-level=NOTICE \
	>$(1)/configure.log
endef

# build_tree FOLDER, FLAGS[, TARGETS]: configure and build, all or these targets; says how far it is.
define build_tree
$(call configure_tree,$(1),$(2))
@tools/build_progress.sh $(cmake) --build $(1) --parallel $(JOBS) $(if $(3),--target $(3)) -- --no-print-directory
endef

# On a terminal a line that moves says how far it is; elsewhere there is a line for each test.
define run_tests
@$(ctest) --test-dir $(1) --progress --output-on-failure --no-tests=error --parallel $(JOBS) $(with_label)
endef

# Tests run with the library's assertions; what is measured, run or installed is built without.
with_tests = -DSTET_TESTS=ON -DSTET_ASSERT=ON
without_tests = -DSTET_TESTS=OFF -DSTET_ASSERT=OFF

# The Python package is built where its tests run; C alone needs no C++ compiler and no headers of Python.
with_python = -DSTET_PYTHON=ON -DPython_EXECUTABLE="$(CURDIR)/.venv/bin/python"

.PHONY: build run test test-mujoco3 test-learners test-clients corpus pace similarity python wheel test-gpu bench \
    chart gallery docs asan tsan lint clean
.DEFAULT_GOAL := build

build:
	@tools/setup.sh build
	$(call build_tree,$(BUILD),$(without_tests) -DSTET_PYTHON=OFF)

# What this machine runs, and nothing besides, unless the tree has more: other instruction sets and the benchmarks are
# built by make.
run: for_this_machine = $(if $(wildcard $(BUILD)/stet-bench),,-DSTET_INSTRUCTION_SETS=widest)
run:
	@tools/setup.sh build
	$(call configure_tree,$(BUILD),$(without_tests) -DSTET_PYTHON=OFF $(for_this_machine))
	@tools/build_progress.sh $(cmake) --build $(BUILD) --parallel $(JOBS) --target stet_cli -- --no-print-directory
	@$(BUILD)/stet run $(RUN)
	@echo "next: look at out/mosaic-rgb.png; $(BUILD)/stet run YOUR.xml --worlds 16 --out out runs a model of yours;"
	@echo "      $(BUILD)/stet --help lists the commands; make python builds the Python package, make all the rest"

test:
	@tools/setup.sh test
	$(call build_tree,$(BUILD),$(with_tests) $(with_python))
	$(call run_tests,$(BUILD))

# Only the C library, the command and the layers that call MuJoCo; the doubles of GPUs are left out. The kernels, which
# do not, are those of the tree with MuJoCo's usual release.
test-mujoco3: with_mujoco3 = -DMUJOCO_DIR="$(CURDIR)/.venv/mujoco3/mujoco" -DSTET_KERNELS_OF="$(abspath $(BUILD))"
test-mujoco3:
	@MUJOCO_DIR= tools/setup.sh test-mujoco3
	$(call build_tree,$(BUILD),,kernels)
	$(call build_tree,$(BUILD)/mujoco3,$(with_tests) $(with_mujoco3),tests_of_model tests_of_worlds tests_of_step)
	@$(ctest) --test-dir $(BUILD)/mujoco3 --output-on-failure --no-tests=error --parallel $(JOBS) \
		-L '^(model|worlds|step)$$' -E '@' -LE '^whole$$'
	@$(BUILD)/mujoco3/stet --version | grep -q 'MuJoCo 3\.'
	@$(BUILD)/mujoco3/stet run scenes/hand.xml --worlds 16 --frames 10 --control noise --threads $(JOBS)

# None of them may skip for want of what was installed (test/skips.txt).
test-learners:
	@tools/setup.sh learners
	$(call build_tree,$(BUILD),$(with_tests) $(with_python),stet_python)
	@STET_NO_SKIP="torch sb3 learners" $(ctest) --test-dir $(BUILD) --output-on-failure --no-tests=error \
		--parallel $(JOBS) -L '^learners$$' -LE '^whole$$'

test-clients:
	@tools/setup.sh clients
	$(call build_tree,$(BUILD),$(with_tests) $(with_python),stet_python)
	@PYTHONPATH="$(abspath $(BUILD))/python:$(CURDIR)/.venv/clients" .venv/bin/python -B -m pytest -q -p no:cacheprovider \
		test/clients/*_test.py

python:
	@tools/setup.sh python
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) .venv/bin/python \
		-m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps .
	@.venv/bin/python -c "import stet; print('installed', stet.__version__, 'in .venv/: .venv/bin/python -m stet.bench')"

wheel:
	@tools/setup.sh wheel
	@mkdir -p $(BUILD)/wheels
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) tools/make_wheel.sh $(BUILD)/wheels
	@tools/check_wheel.sh $(BUILD)/wheels .venv/bin/python

corpus:
	@tools/corpus.sh
	$(call build_tree,$(BUILD),$(with_tests),test_physics_corpus)
	@$(BUILD)/test/physics/test_physics_corpus all; status=$$?; \
	cp $(BUILD)/corpus.md bench/results/corpus.md && exit $$status

pace:
	@tools/corpus.sh
	$(call build_tree,$(BUILD),-DSTET_TESTS=OFF,stet_pace)
	@.venv/bin/python bench/pace.py measure bench/results/$(PACE).json
	@.venv/bin/python bench/pace.py page bench/results/$(PACE).json

similarity:
	@tools/setup.sh corpus
	$(call build_tree,$(BUILD),$(with_tests),similarity_pictures)
	@.venv/bin/python test/render/similarity_corpus.py $(BUILD) bench/results/similarity.md doc/similarity.webp

test-gpu:
	@JOBS=$(JOBS) tools/test_gpu.sh $(BUILD)/gpu

bench:
	@tools/setup.sh bench
	$(call build_tree,$(BUILD),$(without_tests) -DSTET_PYTHON=OFF)
	@$(BUILD)/stet bench $(BENCH)

chart:
	@tools/setup.sh chart
	@.venv/bin/python bench/frame_chart.py $(CHART:%=bench/results/%.json) doc/frame.png

# Robots come from other projects' packages, and policies need ONNX's runtime.
gallery:
	@tools/setup.sh learners
	@tools/setup.sh corpus
	$(call build_tree,$(BUILD),$(without_tests) $(with_python),stet_python)
	@STET_ROBOTS=.venv/corpus PYTHONPATH=$(BUILD)/python .venv/bin/python tools/gallery.py

# stet.torch and stet.jax have pages where their libraries are installed.
docs:
	@tools/setup.sh docs
	$(call build_tree,$(BUILD),$(without_tests) $(with_python),stet_python)
	@modules="stet stet.control stet.gym stet.gym.vector stet.gym.kernels stet.gym.robots stet.gym.mujoco \
	    stet.gym.suite"; \
	for library in torch jax; do \
	    .venv/bin/python -c "import $$library" 2>/dev/null && modules="$$modules stet.$$library"; \
	done; \
	PYTHONPATH=$(BUILD)/python .venv/bin/python -m pdoc --no-show-source -o $(BUILD)/api $$modules
	@.venv/bin/python tools/mechanisms_doc.py

# Sanitized trees. The doubles of GPUs are not sanitized: what their compiler made is that of the usual tree. With a
# LABEL kernels are sanitized for the machine's widest instruction set alone; those of the others are the usual tree's.
with_usual = -DSTET_DOUBLE_CODE="$(abspath $(BUILD))/test/double_code" \
    -DSTET_KERNELS_OF="$(if $(LABEL),$(abspath $(BUILD)))"
usual_kernels = $(if $(LABEL),$(call build_tree,$(BUILD),,kernels))

asan:
	@tools/setup.sh asan
	$(usual_kernels)
	$(call build_tree,$(BUILD)/asan,$(with_tests) -DSTET_SANITIZE=address $(with_usual))
	$(call run_tests,$(BUILD)/asan)

tsan: with_tsan = $(with_tests) -DSTET_SANITIZE=thread -DCMAKE_C_COMPILER=clang $(with_usual)
tsan:
	@tools/setup.sh tsan
	$(usual_kernels)
	$(call build_tree,$(BUILD)/tsan,$(with_tsan),$(if $(filter race,$(LABEL)),tests_of_race))
	$(call run_tests,$(BUILD)/tsan)

lint:
	@tools/setup.sh lint
	$(call build_tree,$(BUILD),$(with_tests))
	@JOBS=$(JOBS) tools/lint.sh $(BUILD)

clean:
	rm -rf $(BUILD)
