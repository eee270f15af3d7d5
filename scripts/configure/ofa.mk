# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Part of Kbuild: an ib_core that replaces the kernel's own (DOCA-OFED, MLNX_OFED) has headers and symbols of its own.
# They are found by scripts/configure/ofa.sh, or named by OFA_DIR=... The kernel's makefiles read Kbuild once to compile and
# once to link, and to clean.

OFA_TREES ?= /usr/src/ofa_kernel
ofa-symvers := build/configure/ofa.symvers

ifeq ($(filter %/Makefile.clean,$(MAKEFILE_LIST)),)
ofa-tree := $(shell bash $(here)/scripts/configure/ofa.sh '$(KERNELRELEASE)' '$(objtree)/Module.symvers' '$(MODLIB)' \
	'$(OFA_TREES)' '$(obj)/$(ofa-symvers)' '$(OFA_DIR)')
ifeq ($(ofa-tree),refused)
$(error rdma_cm_alt is not built, for the reason above)
endif
endif

ifneq ($(ofa-tree),)
$(if $(filter %/Makefile.build,$(MAKEFILE_LIST)),$(info rdma_cm_alt: for the ib_core of $(ofa-tree)))
KBUILD_EXTRA_SYMBOLS += $(obj)/$(ofa-symvers)
# The order of OFED's own build: its headers come before the kernel's, and its settings after the kernel's.
LINUXINCLUDE := $(addprefix -I,$(wildcard $(addprefix $(ofa-tree)/,backport_includes include include/uapi))) \
	$(LINUXINCLUDE) $(addprefix -include ,$(wildcard $(ofa-tree)/include/linux/compat-2.6.h))
endif
