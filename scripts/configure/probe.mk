# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Part of Kbuild: finds out which interfaces the kernel's headers have, before the first object. Kbuild's own rules
# decide when to do so again: when the command has changed, which has the compiler's version and the kernel in it, or
# a header that was read.

rca-config := build/configure/rca_config.h
ccflags-y += -DRCA_CONFIGURED -I$(obj)/$(dir $(rca-config))

rca-compiler := $(subst ',,$(shell LC_ALL=C $(CC) --version 2>/dev/null | head -n 1))
rca-kernel = kernel $(KERNELRELEASE) in $(abspath $(objtree))$(if $(ofa-tree), and the ib_core of $(ofa-tree))

quiet_cmd_rca_probe = PROBE   $@
      cmd_rca_probe = : '$(rca-compiler)'; \
	bash $(here)/scripts/configure/probe.sh $< $@ '$(rca-kernel)' $(CC) $(c_flags)

$(obj)/$(rca-config): private part-of-module := y
$(obj)/$(rca-config): $(here)/scripts/configure/probes.c $(here)/scripts/configure/probe.sh FORCE
	$(call if_changed_dep,rca_probe)

$(addprefix $(obj)/,$(rdma_cm_alt-y) $(rdma_cm_alt_trunk-y) $(rdma_cm_alt_ucm-y)): $(obj)/$(rca-config)

targets += $(rca-config)
clean-files += $(dir $(rca-config))
