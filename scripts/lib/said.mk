# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What a build prints, as Kbuild does: "  CC      file" for a command, the whole command with V=1, nothing with make -s.
#
# A recipe is: $(call said,CC) and then $(Q)command. OUT is the directory of what is built.

ifeq ($(V),1)
Q :=
said =
else
Q := @
said = $(if $(findstring s,$(firstword -$(MAKEFLAGS))),,@printf '  %-7s %s\n' '$(1)' '$(patsubst $(OUT)/%,%,$@)')
endif
