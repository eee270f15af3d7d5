# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Objects of the recorder and decoder of messages, and their unit tests. Part of userspace/Makefile, which links the
# objects into rdma-cm-alt.

CAPTURE_SOURCES := $(sort $(filter-out %.bpf.c,$(wildcard $(SRC)/capture/*/*.c)))
CAPTURE_OBJECTS := $(CAPTURE_SOURCES:$(SRC)/%.c=$(OUT)/userspace/%.o)

$(OUT)/userspace/capture/%.o: $(SRC)/capture/%.c $(SRC)/Makefile $(SRC)/capture/capture.mk $(TOOL_CONFIG) | \
		$(NEEDS)-tool
	@mkdir -p $(@D)
	$(call said,CC)
	$(Q)$(CC) $(TOOL_CFLAGS) $(LIB_FLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Live recording is built where clang, bpftool and a libbpf that can be linked are.
BPF_FLAGS := $(shell command -v clang bpftool >/dev/null && printf '%s\n' '$(HASH)include <bpf/libbpf.h>' \
	'int main(void) { return !bpf_object__open("x"); }' | \
	$(CC) -x c - $(CFLAGS) $(LDFLAGS) -o /dev/null -lbpf 2>/dev/null && echo -DTOOL_HAVE_BPF)
BPF_LIBS := $(if $(BPF_FLAGS),-lbpf)
BPF_SKELETON := $(OUT)/userspace/capture/recorder/wire.skel.h
BPF_HEADERS = /usr/include/$(shell $(CC) -print-multiarch)

$(BPF_SKELETON): $(SRC)/capture/recorder/wire.bpf.c $(SRC)/capture/recorder/wire.h
	@mkdir -p $(@D)
	$(call said,CLANG)
	$(Q)clang -O2 -g -Wall -Werror -target bpf -I$(BPF_HEADERS) -c -o $(@:.skel.h=.bpf.o) $<
	$(Q)bpftool gen skeleton $(@:.skel.h=.bpf.o) name wire > $@.new
	$(Q)mv $@.new $@

$(OUT)/userspace/capture/recorder/source.o: $(if $(BPF_FLAGS),$(BPF_SKELETON))
$(OUT)/userspace/capture/recorder/source.o: TOOL_CFLAGS += $(BPF_FLAGS) -isystem $(dir $(BPF_SKELETON))

# The unit tests are linked with the files that need nothing but the C library.
CAPTURE_UNIT := $(TOP)/tests/unit/capture
CAPTURE_TESTS := $(sort $(basename $(notdir $(wildcard $(CAPTURE_UNIT)/*_test.c))))
CAPTURE_CHK := $(CHK)/capture
CAPTURE_CHK_FLAGS = -std=gnu11 -D_GNU_SOURCE $(WARN) $(CHK_FLAGS) -I$(SRC) -I$(TOP)/uapi
CAPTURE_CHK_SOURCES := $(sort $(wildcard $(SRC)/capture/format/*.c)) \
	$(addprefix $(SRC)/capture/decode/,names.c query.c conversation.c cause.c) \
	$(addprefix $(SRC)/capture/recorder/,create.c kept.c stored.c correlate_trunk.c)

$(CAPTURE_CHK)/lib-%.o: $(SRC)/capture/%.c $(SRC)/Makefile $(SRC)/capture/capture.mk
	@mkdir -p $(@D)
	$(call said,CC)
	$(Q)$(CC) $(CAPTURE_CHK_FLAGS) -MMD -MP -c -o $@ $<

$(CAPTURE_CHK)/%.o: $(CAPTURE_UNIT)/%.c $(SRC)/Makefile $(SRC)/capture/capture.mk
	@mkdir -p $(@D)
	$(call said,CC)
	$(Q)$(CC) $(CAPTURE_CHK_FLAGS) -MMD -MP -c -o $@ $<

CAPTURE_CHECKS := $(CAPTURE_TESTS:%=$(CAPTURE_CHK)/%)

# A static pattern, so that the rule for tests of the library is not taken while an object is missing.
$(CAPTURE_CHECKS): $(CAPTURE_CHK)/%_test: $(CAPTURE_CHK)/%_test.o \
		$(CAPTURE_CHK_SOURCES:$(SRC)/capture/%.c=$(CAPTURE_CHK)/lib-%.o)
	$(call said,LD)
	$(Q)$(CC) $(CHK_FLAGS) -o $@ $^ -lcmocka
