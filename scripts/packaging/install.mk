# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Installs and removes files, below $(DESTDIR). A list of calls of $(1) with directory, mode and files is
# installed if $(1) is put, and removed if it is take.

define put
install -d '$(DESTDIR)$(1)'
install -m $(2) $(3) '$(DESTDIR)$(1)/'

endef

define take
rm -f $(addprefix $(DESTDIR)$(1)/,$(notdir $(3)))

endef

# Removes directories of ours that are empty.
define drop
for dir in $(addprefix $(DESTDIR),$(1)); do [ ! -d "$$dir" ] || rmdir --ignore-fail-on-non-empty "$$dir"; done
endef
