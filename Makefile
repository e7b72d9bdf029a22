# yolopack. `make help` lists the targets; the user's CC, CFLAGS, CPPFLAGS and LDFLAGS are added after our own.

VARIANT ?= release
BUILD ?= build
O = $(BUILD)/$(VARIANT)

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DESTDIR ?=

PKG_CONFIG ?= pkg-config
OBJCOPY ?= objcopy
INSTALL ?= install

# A shell command's output, asked for once, when first needed.
once = $(eval $(1) := $$(shell $(2)))$($(1))

# ---- sources -------------------------------------------------------------------------------------------------------

COMMON = error bytes file clock suggest record index index_check index_builder codec jpeg jpeg_decode jpeg_encode jpeg_transform \
         chroma baseline entropy huffman samples pixels exif cpu cpus cgroup memory staging
COMMON_X86 = samples_avx2 samples_avx512
PACKER = report arena scan yaml_nodes data_yaml data_yaml_locate pair_rule pair_place pair_split pair_map \
         pair_match pair_label pair_word pair_hint pair_sample pair decimal label \
         source_image source_jpeg source_png $(SOURCE_TIFF) $(SOURCE_WEBP) $(SOURCE_BMP) normalise intake shard pipeline \
         publish manifest pack_manifest class_names select part gray_tally pack_split packed append pack merge verify stray compare reindex \
         lease stage_copy stage
READER = api_error staged dataset_split dataset_shard dataset decoder random permutation matrix placement oriented boxes plan \
         plan_options plan_state \
         resize resize_rows warp warp_rows axis_rows hsv infrared convert frame window slot loader_options row_maker \
         balance tuning workers device_slot transfer_meter transfer loader dlpack thread device device_host \
         device_cuda_$(if $(HAVE_CUDA),load,absent)
READER_X86 = resize_rows_avx2 resize_rows_avx512 warp_rows_avx2 axis_rows_avx2 axis_rows_avx512 hsv_avx2 hsv_avx512 convert_avx2 convert_avx512
TOOLS = args dataset_args augment loader_args commands interrupt progress output summary splits tree synth font canvas png_out sheet \
        view_stored view_batch \
        export_label export_yaml cmd_pack cmd_check cmd_bench info_options cmd_info cmd_ls cmd_verify cmd_reindex cmd_merge cmd_export cmd_synth cmd_view \
        consumer loader_run tune_choice tune_plot cmd_tune cmd_stage cmd_unstage cmd_staged

# Formats whose libraries may be absent: then the file in the source's place says which package is needed.
HAVE_TIFF = $(call once,HAVE_TIFF,$(PKG_CONFIG) --exists libtiff-4 2>/dev/null && echo yes)
HAVE_TIFF_4_5 = $(call once,HAVE_TIFF_4_5,$(PKG_CONFIG) --atleast-version=4.5 libtiff-4 2>/dev/null && echo yes)
HAVE_WEBP = $(call once,HAVE_WEBP,$(PKG_CONFIG) --exists libwebp 2>/dev/null && echo yes)
# Whether libxxhash chooses its instructions as it runs (hash.h).
HAVE_XXH_DISPATCH = $(call once,HAVE_XXH_DISPATCH,printf '\043include <xxh_x86dispatch.h>\nint main() { return !XXH3_64bits_dispatch; }' | \
    $(CC) -x c - -x none $$($(PKG_CONFIG) --cflags --libs libxxhash) -o /dev/null 2>/dev/null && echo yes)
HAVE_STB = $(call once,HAVE_STB,$(PKG_CONFIG) --exists stb 2>/dev/null && echo yes)
SOURCE_TIFF = $(if $(HAVE_TIFF),source_tiff tiff_memory $(if $(HAVE_TIFF_4_5),tiff_open,tiff_open_old),source_tiff_absent)
SOURCE_WEBP = $(if $(HAVE_WEBP),source_webp,source_webp_absent)
SOURCE_BMP = $(if $(HAVE_STB),source_bmp,source_bmp_absent)

# CUDA: auto builds its part where there is an nvcc, 1 wants it, 0 leaves it out. Of the architectures, those that the nvcc
# knows, and code that the driver compiles for whatever is newer than the last.
CUDA ?= auto
CUDA_ARCHS ?= 75 80 90
NVCC ?= $(call once,NVCC,command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
nvcc_host = $(call once,nvcc_host,for cc in '$(CC)' g++; do \
    $(NVCC) -ccbin "$$$$cc" -x cu -E /dev/null -o /dev/null 2>/dev/null && echo "$$$$cc" && break; done)
HAVE_CUDA = $(if $(filter 0,$(CUDA)),,$(if $(NVCC),$(nvcc_host)))
ifeq ($(filter 0 1 auto,$(CUDA)),)
$(error CUDA=$(CUDA): it is one of auto, 0, 1)
endif
ifeq ($(CUDA)$(HAVE_CUDA),1)
$(error CUDA=1: no nvcc that works with $(CC) or g++ (NVCC=/path/to/nvcc names one))
endif
CUDA_C = cuda_context device_cuda
CUDA_KERNELS = cuda_kernels

COMMON_SRC = $(COMMON:%=common/%.c) $(if $(X86),$(COMMON_X86:%=common/%.c))
PACKER_SRC = $(PACKER:%=packer/%.c)
X86 = $(call once,X86,$(CC) -dumpmachine | grep ^x86_64)
READER_SRC = $(READER:%=reader/%.c) $(if $(X86),$(READER_X86:%=reader/%.c))
TOOLS_SRC = $(TOOLS:%=tools/%.c)
MAN = $(wildcard tools/man/*.1)

UNIT_SRC = $(filter-out $(if $(HAVE_TIFF),,%/test_source_tiff.c) $(if $(HAVE_WEBP),,%/test_source_webp.c) \
             $(if $(HAVE_STB),,%/test_source_bmp.c),$(wildcard tests/unit/test_*.c))
FAULT_SRC = $(wildcard tests/fault/fault_*.c)
STRESS_SRC = $(wildcard tests/stress/stress_*.c)
BENCH_SRC = $(wildcard tests/bench/bench_*.c)
PLAIN_SRC = tests/bench/plain.c
FUZZ_SRC = $(wildcard tests/fuzz/fuzz_*.c)
GOLDEN_SRC = tests/golden/make_golden.c
PARITY_SRC = tests/parity/dump.c
GPU_SRC = tests/gpu/check_device.c tests/gpu/watched.c tests/gpu/driver.c
TEST_SRC = $(UNIT_SRC) $(FAULT_SRC) $(STRESS_SRC) $(BENCH_SRC) $(PLAIN_SRC) $(FUZZ_SRC) $(GOLDEN_SRC) $(PARITY_SRC) $(GPU_SRC) \
           $(wildcard tests/fuzz/replay.c)

CUDA_OBJ = $(CUDA_C:%=$(O)/reader/cuda/%.o) $(CUDA_KERNELS:%=$(O)/reader/cuda/%.o) $(O)/common/error.o

# What the library is made of, and everything that a test may link.
LIBRARY_OBJ = $(patsubst %.c,$(O)/%.o,$(COMMON_SRC) $(READER_SRC))
ALL_OBJ = $(LIBRARY_OBJ) $(patsubst %.c,$(O)/%.o,$(PACKER_SRC) $(TOOLS_SRC))
SIM_OBJ = $(O)/tests/sim/device_sim.o
TEST_OBJ = $(TEST_SRC:%.c=$(O)/%.o) $(SIM_OBJ)
programs = $(patsubst %.c,$(O)/%,$(1))

# ---- flags ---------------------------------------------------------------------------------------------------------

# The library needs only the first four.
LIBRARY_PKGS = libturbojpeg libjpeg libzstd libxxhash
ALL_PKGS = $(LIBRARY_PKGS) lmdb yaml-0.1 jansson libpng $(if $(HAVE_TIFF),libtiff-4) $(if $(HAVE_WEBP),libwebp)
LIBRARY_CFLAGS = $(call once,LIBRARY_CFLAGS,$(PKG_CONFIG) --cflags $(LIBRARY_PKGS))
LIBRARY_LIBS = $(call once,LIBRARY_PKG_LIBS,$(PKG_CONFIG) --libs $(LIBRARY_PKGS)) -lm -ldl
ALL_PKG_CFLAGS = $(call once,ALL_PKG_CFLAGS,$(PKG_CONFIG) --cflags $(ALL_PKGS))
ALL_LIBS = $(call once,ALL_PKG_LIBS,$(PKG_CONFIG) --libs $(ALL_PKGS)) -lm -ldl
# As a system's header, whose warnings are not ours.
STB_CFLAGS = $(if $(HAVE_STB),$(patsubst -I%,-isystem %,$(call once,STB_CFLAGS_I,$(PKG_CONFIG) --cflags-only-I stb)))
CRITERION_CFLAGS = $(call once,CRITERION_CFLAGS,$(PKG_CONFIG) --cflags criterion)
CRITERION_LIBS = $(call once,CRITERION_LIBS,$(PKG_CONFIG) --libs criterion)
version_part = $(shell sed -n 's/^.define YPK_VERSION_$(1) //p' reader/yolopack.h)
VERSION = $(call version_part,MAJOR).$(call version_part,MINOR).$(call version_part,PATCH)
SOVERSION = 0

VARIANT_FLAGS_release = -O2 -g
VARIANT_FLAGS_debug = -O0 -g
VARIANT_FLAGS_asan = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
VARIANT_FLAGS_tsan = -O1 -g -fno-omit-frame-pointer -fsanitize=thread
VARIANT_FLAGS = $(VARIANT_FLAGS_$(VARIANT))
ifeq ($(VARIANT_FLAGS),)
$(error VARIANT=$(VARIANT): it is one of release, debug, asan, tsan)
endif

# No contraction of a*b+c, so that every compiler and machine computes the same bytes.
YPK_CPPFLAGS = -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $(if $(HAVE_XXH_DISPATCH),-DYPK_XXH_DISPATCH)
YPK_CFLAGS = -std=c11 $(VARIANT_FLAGS) -pthread -fPIC -fvisibility=hidden -ffp-contract=off \
             -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla $(FATAL_WARNINGS)
# Under sanitizers gcc warns of what cannot happen (its manual says so), so warnings are fatal only without them.
FATAL_WARNINGS = $(if $(WERROR),$(if $(findstring -fsanitize,$(VARIANT_FLAGS)),,-Werror))
YPK_LDFLAGS = $(VARIANT_FLAGS) -pthread -Wl,--as-needed

cuda_archs = $(filter $(CUDA_ARCHS),$(patsubst compute_%,%,$(call once,nvcc_archs,$(NVCC) --list-gpu-arch)))
# The same rounding as on the CPU: nothing is contracted.
NVCC_FLAGS = -ccbin '$(nvcc_host)' -std=c++14 -O2 -lineinfo --fmad=false $(if $(FATAL_WARNINGS),-Werror all-warnings) \
             -Xcompiler -fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics,-Wall,-Wextra,-Wno-unused-function \
             -Xcompiler -iquote,reader/cuda,-iquote,reader,-iquote,common \
             $(foreach a,$(cuda_archs),-gencode arch=compute_$a,code=sm_$a) \
             $(foreach a,$(lastword $(cuda_archs)),-gencode arch=compute_$a,code=compute_$a)
# The toolkit that the nvcc belongs to; links are followed, as from /usr/bin.
cuda_home = $(call once,cuda_home,realpath "$(NVCC)" | xargs dirname | xargs dirname)
CUDA_CFLAGS = $(if $(wildcard $(cuda_home)/include/cuda.h),-isystem $(cuda_home)/include)
CUDA_LIBS = $(foreach d,lib64 lib,$(if $(wildcard $(cuda_home)/$d/libcudart_static.a),-L$(cuda_home)/$d)) \
            -lcudart_static -ldl -lrt

# Each layer sees its own headers and those below it, and no others.
$(O)/common/%.o: LAYER_FLAGS = -iquote common $(LIBRARY_CFLAGS)
$(O)/reader/%.o: LAYER_FLAGS = -iquote reader -iquote common $(LIBRARY_CFLAGS)
$(O)/reader/cuda/%.o: LAYER_FLAGS = -iquote reader/cuda -iquote reader -iquote common $(CUDA_CFLAGS)
$(O)/packer/%.o: LAYER_FLAGS = -iquote packer -iquote common $(ALL_PKG_CFLAGS) $(STB_CFLAGS)
$(O)/tools/%.o: LAYER_FLAGS = -iquote tools -iquote packer -iquote reader -iquote common $(ALL_PKG_CFLAGS)
TEST_FLAGS = -iquote tests -iquote tools -iquote packer -iquote reader -iquote common $(ALL_PKG_CFLAGS)
$(O)/tests/%.o: LAYER_FLAGS = $(TEST_FLAGS)
$(O)/tests/unit/%.o: LAYER_FLAGS = $(TEST_FLAGS) $(CRITERION_CFLAGS)

# Code for one instruction set, entered only after asking the machine (common/cpu.h).
$(O)/%_avx2.o: ISA = -mavx2 -mfma
$(O)/%_avx512.o: ISA = -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vbmi
# Runs on machines that have those only, too: shifts by a number of bits that leave the flags alone.
$(O)/common/entropy.o: ISA = $(if $(X86),-mbmi -mbmi2)
# Loops over rows of samples, most of which gcc leaves alone at -O2.
$(O)/common/chroma.o: ISA = -ftree-vectorize

# The static library localises symbols in machine code; a link-time-optimised object has none yet.
$(O)/common/%.o $(O)/reader/%.o: NO_LTO = -fno-lto

# ---- build ---------------------------------------------------------------------------------------------------------

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all tests demo demo-run check check-run bench fuzz lint format deps install uninstall clean help FORCE

CUDA_LIBRARY = $(if $(HAVE_CUDA),libyolopack-cuda.so.$(SOVERSION))
PRODUCTS = yolopack libyolopack.so.$(SOVERSION) libyolopack.so libyolopack.a $(CUDA_LIBRARY)

all: $(PRODUCTS:%=$(O)/%) $(if $(filter release,$(VARIANT)),$(PRODUCTS:%=$(BUILD)/%))

# The release build is what build/yolopack and its neighbours are.
$(PRODUCTS:%=$(BUILD)/%): $(BUILD)/%: | $(BUILD)/release/%
	@ln -sfn release/$* $@

$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(CC) $(LAYER_FLAGS) $(YPK_CPPFLAGS) $(CPPFLAGS) $(YPK_CFLAGS) $(CFLAGS) $(ISA) $(NO_LTO) -MMD -MP -c -o $@ $<

$(O)/yolopack: $(O)/tools/main.o $(ALL_OBJ) Makefile
	@echo "  LINK  $@"
	@$(CC) $(YPK_LDFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(ALL_LIBS)

$(O)/libyolopack.so.$(SOVERSION): $(LIBRARY_OBJ) reader/yolopack.map Makefile
	@echo "  LINK  $@"
	@$(CC) $(YPK_LDFLAGS) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=reader/yolopack.map \
	    -o $@ $(LIBRARY_OBJ) $(LIBRARY_LIBS)

$(O)/libyolopack-cuda.so.$(SOVERSION): $(CUDA_OBJ) reader/cuda/yolopack-cuda.map Makefile
	@echo "  LINK  $@"
	@$(CC) $(YPK_LDFLAGS) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--no-undefined \
	    -Wl,--version-script=reader/cuda/yolopack-cuda.map -o $@ $(CUDA_OBJ) $(CUDA_LIBS)

$(O)/%.o: %.cu $(O)/flags
	@mkdir -p $(@D)
	@echo "  NVCC  $@"
	@$(NVCC) $(NVCC_FLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

$(O)/libyolopack.so: $(O)/libyolopack.so.$(SOVERSION)
	@ln -sfn $(<F) $@

# One object whose hidden symbols are local, so that a static link cannot collide with our plain internal names.
$(O)/libyolopack.a: $(LIBRARY_OBJ) Makefile
	@echo "  AR    $@"
	@$(CC) -r -nostdlib -o $(O)/libyolopack.o $(LIBRARY_OBJ)
	@$(OBJCOPY) --localize-hidden $(O)/libyolopack.o
	@rm -f $@
	@$(AR) rcs $@ $(O)/libyolopack.o

# Everything but main(), for the tests, and a device that only they know.
$(O)/everything.a: $(ALL_OBJ) $(SIM_OBJ) Makefile
	@rm -f $@
	@$(AR) rcs $@ $(ALL_OBJ) $(SIM_OBJ)

# Rewritten when the compiler or a flag changes, so that no object of another compiler stays behind.
FLAGS = '$(subst ','\'',$(CC) $(CPPFLAGS) $(YPK_CFLAGS) $(CFLAGS) $(LDFLAGS) $(if $(HAVE_CUDA),$(NVCC) $(NVCC_FLAGS)))'
$(O)/flags: FORCE
	@mkdir -p $(O)
	@$(PKG_CONFIG) --exists $(ALL_PKGS) 2>/dev/null || { .ci/deps --list; exit 1; }
	@echo $(FLAGS) | cmp -s - $@ || echo $(FLAGS) >$@
FORCE:

-include $(patsubst %.o,%.d,$(ALL_OBJ) $(CUDA_OBJ) $(TEST_OBJ) $(O)/tests/gpu/fake_cuda.o $(O)/tools/main.o)

# ---- tests ---------------------------------------------------------------------------------------------------------

tests: $(call programs,$(UNIT_SRC) $(FAULT_SRC) $(STRESS_SRC) $(FUZZ_SRC) $(GOLDEN_SRC) $(PARITY_SRC)) $(O)/tests/gpu/check_device

$(O)/tests/unit/%: $(O)/tests/unit/%.o $(O)/everything.a
	@echo "  LINK  $@"
	@$(CC) $(YPK_LDFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(CRITERION_LIBS) $(ALL_LIBS)

$(O)/tests/gpu/check_device: $(GPU_SRC:%.c=$(O)/%.o) $(O)/everything.a
	@echo "  LINK  $@"
	@$(CC) $(YPK_LDFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

# The CUDA part on a runtime that is the CPU, for its test; the kernels are compiled as C++ for that.
FAKE_CUDA = $(O)/tests/gpu/fake/libyolopack-cuda.so.$(SOVERSION)
$(O)/tests/unit/test_device_cuda: | $(if $(HAVE_CUDA),$(FAKE_CUDA))
$(FAKE_CUDA): $(O)/tests/gpu/fake_cuda.o $(filter-out %/cuda_kernels.o,$(CUDA_OBJ)) tests/gpu/fake_cuda.map Makefile
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CXX) $(YPK_LDFLAGS) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=tests/gpu/fake_cuda.map -o $@ $(filter %.o,$^)
$(O)/tests/gpu/fake_cuda.o: tests/gpu/fake_cuda.cc $(O)/flags
	@mkdir -p $(@D)
	@echo "  CXX   $@"
	@$(CXX) -iquote reader/cuda -iquote reader -iquote common $(CUDA_CFLAGS) $(YPK_CPPFLAGS) -std=c++14 $(VARIANT_FLAGS) -pthread -fPIC \
	    -ffp-contract=off -Wall -Wextra -Wno-unknown-pragmas $(FATAL_WARNINGS) -MMD -MP -c -o $@ $<

$(O)/tests/fuzz/fuzz_%: $(O)/tests/fuzz/fuzz_%.o $(O)/tests/fuzz/replay.o $(O)/everything.a
	@echo "  LINK  $@"
	@$(CC) $(YPK_LDFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

$(call programs,$(FAULT_SRC) $(STRESS_SRC) $(BENCH_SRC) $(PLAIN_SRC) $(GOLDEN_SRC) $(PARITY_SRC)): $(O)/%: $(O)/%.o $(O)/everything.a
	@echo "  LINK  $@"
	@$(CC) $(YPK_LDFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

# A make of its own: what `deps` installed is seen by its pkg-config calls. One job a core unless -j was given.
SUBMAKE = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

check: deps
	+@$(SUBMAKE) check-run

check-run:
	+@$(SUBMAKE) all tests
	+@$(SUBMAKE) VARIANT=asan all tests
	+@$(SUBMAKE) VARIANT=tsan stress
	@CC='$(CC)' MAKE='$(MAKE)' BUILD_ROOT='$(BUILD)' VARIANT='$(VARIANT)' tests/run $(TESTS)

.PHONY: stress
stress: $(call programs,$(STRESS_SRC))

bench: all $(call programs,$(BENCH_SRC) $(PLAIN_SRC))
	@set -e; export YOLOPACK="$(abspath $(O)/yolopack)" BUILD="$(abspath $(O))"; \
	[ -n "$$YPK_TEST_DATA" ] || [ ! -d ../shared/data ] || export YPK_TEST_DATA=$$(cd ../shared/data && pwd); \
	for t in $(call programs,$(BENCH_SRC)); do echo "== $$t"; $$t; done; \
	for t in $(sort $(wildcard tests/bench/bench_*.py)); do echo "== $$t"; python3 $$t; done

FUZZ_SECONDS ?= 60
FUZZ_CC ?= clang
FUZZ_TARGETS = $(notdir $(FUZZ_SRC:.c=))
fuzz:
	@echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n); int LLVMFuzzerTestOneInput(const char *d, \
	    unsigned long n) { return d == (const char *)n; }' | $(FUZZ_CC) -fsanitize=fuzzer -x c -o /dev/null - || \
	    { echo 'make fuzz needs clang with libFuzzer (Debian: clang, and libclang-rt-N-dev of its version)'; exit 1; }
	+@$(SUBMAKE) CC=$(FUZZ_CC) BUILD=$(BUILD)/fuzz VARIANT=asan CFLAGS='-fsanitize=fuzzer-no-link $(CFLAGS)' fuzz-build
	@set -e; for t in $(FUZZ_TARGETS); do echo "== $$t, $(FUZZ_SECONDS) s"; dict=tests/fuzz/dict/$$t.dict; \
	    mkdir -p $(BUILD)/fuzz/found/$$t tests/fuzz/corpus/$$t; \
	    $(BUILD)/fuzz/asan/$$t -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
	        $$(test ! -f $$dict || echo -dict=$$dict) -artifact_prefix=$(BUILD)/fuzz/found/$$t- \
	        $(BUILD)/fuzz/found/$$t tests/fuzz/corpus/$$t; done

.PHONY: fuzz-build
fuzz-build: $(FUZZ_SRC:tests/fuzz/%.c=$(O)/%)
$(FUZZ_SRC:tests/fuzz/%.c=$(O)/%): $(O)/%: $(O)/tests/fuzz/%.o $(O)/everything.a
	@$(CC) $(YPK_LDFLAGS) $(CFLAGS) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(ALL_LIBS)

# ---- the rest ------------------------------------------------------------------------------------------------------

deps:
	@.ci/deps

DEMO = $(BUILD)/demo
demo: deps
	+@$(SUBMAKE) all
	+@$(SUBMAKE) demo-run

demo-run:
	@rm -rf $(DEMO) && mkdir -p $(DEMO)
	$(BUILD)/yolopack synth $(DEMO)/night --pairs 64
	$(BUILD)/yolopack $(DEMO)/night -o $(DEMO)/night.ypk
	$(BUILD)/yolopack verify $(DEMO)/night.ypk
	$(BUILD)/yolopack info $(DEMO)/night.ypk
	$(BUILD)/yolopack export $(DEMO)/night.ypk $(DEMO)/export
	$(BUILD)/yolopack view $(DEMO)/night.ypk -o $(DEMO)/look.png
	@echo "Look at $(DEMO)/look.png; the pack is $(DEMO)/night.ypk."

lint:
	@.ci/lint

format:
	clang-format -i $(wildcard common/*.[ch] packer/*.[ch] reader/*.[ch] reader/cuda/*.[ch] reader/cuda/*.cu tools/*.[ch] tests/*/*.[ch])

# pkg-config's files have no way to name a path with a blank. Programs find the library in LIBDIR once the loader's cache knows it,
# which only root can tell it; a staged installation is somebody else's to finish.
install: all
	$(if $(word 2,$(DESTDIR)$(BINDIR)$(LIBDIR)$(INCLUDEDIR)$(MANDIR)),$(error DESTDIR, PREFIX and the like must be without blanks))
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(MANDIR)/man1
	$(INSTALL) -m 755 $(O)/yolopack $(DESTDIR)$(BINDIR)/yolopack
	$(INSTALL) -m 644 $(O)/libyolopack.a $(DESTDIR)$(LIBDIR)/libyolopack.a
	$(INSTALL) -m 755 $(O)/libyolopack.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libyolopack.so.$(VERSION)
	$(if $(HAVE_CUDA),$(INSTALL) -m 755 $(O)/$(CUDA_LIBRARY) $(DESTDIR)$(LIBDIR)/$(CUDA_LIBRARY))
	ln -sfn libyolopack.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libyolopack.so.$(SOVERSION)
	ln -sfn libyolopack.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libyolopack.so
	$(INSTALL) -m 644 reader/yolopack.h $(DESTDIR)$(INCLUDEDIR)/yolopack.h
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
	    -e 's|@VERSION@|$(VERSION)|' -e 's|@PKGS@|$(LIBRARY_PKGS)|' reader/yolopack.pc.in \
	    >$(DESTDIR)$(LIBDIR)/pkgconfig/yolopack.pc
	$(if $(MAN),$(INSTALL) -m 644 $(MAN) $(DESTDIR)$(MANDIR)/man1)
	$(if $(DESTDIR),,@[ "$$(id -u)" -ne 0 ] || ldconfig || :)

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/yolopack $(DESTDIR)$(INCLUDEDIR)/yolopack.h $(DESTDIR)$(LIBDIR)/pkgconfig/yolopack.pc
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/libyolopack,.a .so .so.$(SOVERSION) .so.$(VERSION) -cuda.so.$(SOVERSION))
	rm -f $(patsubst tools/man/%,$(DESTDIR)$(MANDIR)/man1/%,$(MAN))

clean:
	rm -rf $(BUILD)

help:
	@echo 'make            build/yolopack and the libraries beside it'
	@echo 'make demo       install what is missing, build, make a data set, pack it, verify it, draw it'
	@echo 'make check      install what is missing, build, run every test (TESTS=unit/test_index: only those)'
	@echo 'make bench      measure; prints ratios against plain tools'
	@echo 'make fuzz       fuzz every parser for FUZZ_SECONDS=$(FUZZ_SECONDS) (needs clang)'
	@echo 'make lint       formatting and static analysis, with the tools that are there'
	@echo 'make deps       install the packages that are missing (as root), or say which'
	@echo 'make install    PREFIX=$(PREFIX) DESTDIR= BINDIR LIBDIR INCLUDEDIR MANDIR'
	@echo 'make uninstall  take them away again'
	@echo 'make clean      remove $(BUILD)/'
	@echo 'Variables: VARIANT=release|debug|asan|tsan, WERROR=1, BUILD=$(BUILD), CC, CFLAGS, CPPFLAGS, LDFLAGS'
	@echo '           CUDA=auto|0|1 (here: $(if $(HAVE_CUDA),$(NVCC),no nvcc)), NVCC, CUDA_ARCHS="$(CUDA_ARCHS)"'
