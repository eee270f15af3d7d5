# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# How files get onto a machine and off it again, below $(DESTDIR). A list of calls of $(1) with
# directory, mode and files is installed with put, and removed with take.

define put
install -d '$(DESTDIR)$(1)'
install -m $(2) $(3) '$(DESTDIR)$(1)/'

endef

define take
rm -f $(addprefix $(DESTDIR)$(1)/,$(notdir $(3)))

endef

# Directories that are ours, as far as nobody else has put something there.
define drop
for dir in $(addprefix $(DESTDIR),$(1)); do [ ! -d "$$dir" ] || rmdir --ignore-fail-on-non-empty "$$dir"; done
endef
