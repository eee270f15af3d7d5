# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Targets for users and developers; Kbuild is the makefile for the kernel's build system.

HERE	:= $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
KDIR	?= /lib/modules/$(shell uname -r)/build
OUT	:= $(abspath build)
GUESTS	= $(shell scripts/kernel-fetch -o) debug uml
GUEST	?= 6.12
PREFIX	?= /usr/local
RELEASE	= $(shell cat '$(KDIR)/include/config/kernel.release' 2>/dev/null || uname -r)

all: module lib

help:
	@echo 'Build:'
	@echo '  make module [KDIR=...]   the kernel module, for the running kernel or the one in KDIR'
	@echo '  make modules             the kernel module for every guest (GUESTS=...), into build/module/'
	@echo '  make lib                 the library and the drop-in, into build/'
	@echo '  make tool                the command rdma-cm-alt, into build/'
	@echo '  make examples            the example programs, into build/examples/'
	@echo '  make tests               the test programs, into build/tests/'
	@echo '  V=1 with any of them     prints whole commands'
	@echo '  make htmldocs            Documentation/ as web pages, into build/htmldocs/ (it says what it needs)'
	@echo '  make clean               build/ away; kernels stay in the cache'
	@echo 'Install (see Documentation/packaging.rst):'
	@echo '  make install             what was built, onto this machine (PREFIX=$(PREFIX), DESTDIR)'
	@echo '  make uninstall           off it again; both also in parts: -module, -lib, -tool, -host'
	@echo '  make install-dkms        the module for each kernel, by DKMS, instead of -module'
	@echo '  make deb                 Debian packages, into build/deb/'
	@echo '  make rpm                 RPMs, into build/rpm/'
	@echo 'Test (on a machine of its own in the cache, and in guests; see Documentation/testing.rst):'
	@echo '  make check               everything'
	@echo '  make kunit               the unit tests of the module, in User-mode Linux'
	@echo '  make soak [TIME=60m]     what check leaves out in the debug guest (half an hour and more); TIME'
	@echo '                           is shared by the suites that can go on for ever'
	@echo '  make bench               measures ours against stock: table and plots in build/bench/ (a quarter of an hour)'
	@echo '  make vm [GUEST=6.12]     a shell in a guest (6.1, 6.12, debug, uml)'
	@echo 'Show:'
	@echo '  make demo                what this is good for, in one run'

module:
	@test -e '$(KDIR)/Makefile' || { \
		echo "make: no kernel headers in $(KDIR); install them or say KDIR=..., or try: make modules" >&2; \
		exit 1; }
	@$(MAKE) --no-print-directory -C $(KDIR) M=$(CURDIR) modules

modules:
	scripts/in-machine sh -ec 'for guest; do scripts/setup -p demo $$guest; scripts/build-module $$guest; done' sh $(GUESTS)

lib:
	@$(MAKE) --no-print-directory -C userspace OUT=$(OUT)

examples: lib
	@$(MAKE) --no-print-directory -C userspace OUT=$(OUT) examples

tests: examples
	@$(MAKE) --no-print-directory -C tests OUT=$(OUT)
	@$(MAKE) --no-print-directory -C userspace OUT=$(OUT) tool

tool:
	@$(MAKE) --no-print-directory -C userspace OUT=$(OUT) tool

# The reference of the uAPI is made of its headers, with a compiler.
htmldocs:
	@command -v sphinx-build >/dev/null && command -v dot >/dev/null && python3 -c 'import yaml' 2>/dev/null && \
		echo '#include <infiniband/verbs.h>' | $(CC) -E - >/dev/null 2>&1 || { \
		echo "make: htmldocs needs python3-sphinx, furo, graphviz, python3-yaml, gcc and libibverbs-dev" >&2; exit 1; }
	sphinx-build -b html -W --keep-going -n -q -d $(OUT)/doctrees Documentation $(OUT)/htmldocs

# On a machine of its own, so that this one needs nothing but make.
check:
	@scripts/in-machine scripts/check

kunit:
	@scripts/in-machine scripts/check -g uml -s kunit

soak:
	@scripts/in-machine $(addprefix -p ,demo check docs packages soak) \
		scripts/check -f tests/soak.conf $(if $(TIME),-t $(TIME))

bench:
	@scripts/in-machine scripts/perf

demo:
	@scripts/demo

vm:
	@scripts/in-machine scripts/vm $(GUEST)

# Checks all conditions of an installation before anything is installed.
can-install = OUT='$(OUT)' KDIR='$(KDIR)' RELEASE='$(RELEASE)' PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' \
	$(HERE)scripts/packaging/can-install

install:
	@$(can-install) module lib tool host
	$(MAKE) install-module install-lib install-tool install-host

uninstall: uninstall-module uninstall-lib uninstall-tool uninstall-host

can-install-%:
	@$(can-install) $*

install-module: can-install-module
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=updates modules_install
	$(MAKE) -C $(HERE)scripts/packaging install-boot
	$(if $(DESTDIR),,depmod -a $(RELEASE))

uninstall-module:
	$(MAKE) -C $(HERE)scripts/packaging uninstall-boot
	rm -f $(DESTDIR)/lib/modules/$(RELEASE)/updates/rdma_cm_alt.ko* \
		$(DESTDIR)/lib/modules/$(RELEASE)/updates/rdma_cm_alt_trunk.ko* \
		$(DESTDIR)/lib/modules/$(RELEASE)/updates/rdma_cm_alt_ucm.ko*
	$(if $(DESTDIR),,depmod -a $(RELEASE))

install-lib: can-install-lib
install-tool: can-install-tool
install-host: can-install-host
install-dkms: can-install-dkms

install-lib uninstall-lib:
	$(MAKE) -C userspace OUT=$(OUT) $(@:-lib=)

install-tool uninstall-tool:
	$(MAKE) -C userspace OUT=$(OUT) $@

install-host uninstall-host:
	$(MAKE) -C scripts/packaging $(@:-host=)

install-dkms uninstall-dkms:
	$(MAKE) -C scripts/packaging $@

deb:
	scripts/packaging/make-deb

rpm:
	scripts/packaging/make-rpm

clean:
	rm -rf $(OUT)
	if [ -e '$(KDIR)/Makefile' ]; then $(MAKE) -C $(KDIR) M=$(CURDIR) clean; fi

.PHONY: all help module modules lib tool examples tests htmldocs check kunit soak bench demo vm clean deb rpm \
	install install-module install-lib install-tool install-host install-dkms \
	uninstall uninstall-module uninstall-lib uninstall-tool uninstall-host uninstall-dkms
