# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Targets for users and developers; Kbuild is the makefile for the kernel's build system.

HERE	:= $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
KDIR	?= /lib/modules/$(shell uname -r)/build
OUT	:= $(abspath build)
GUESTS	:= 6.1 6.12 debug uml
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
	@echo '  make htmldocs            Documentation/ as web pages, into build/htmldocs/ (needs Sphinx, furo, graphviz)'
	@echo '  make clean               build/ away; kernels stay in the cache'
	@echo 'Install (see Documentation/packaging.rst):'
	@echo '  make install             what was built, onto this machine (PREFIX=$(PREFIX), DESTDIR)'
	@echo '  make uninstall           off it again; both also in parts: -module, -lib, -tool, -host'
	@echo '  make install-dkms        the module for each kernel, by DKMS, instead of -module'
	@echo '  make deb                 Debian packages, into build/deb/'
	@echo '  make rpm                 RPMs, into build/rpm/'
	@echo 'Test (installs what is missing, boots guests; see Documentation/testing.rst):'
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
	$(MAKE) -C $(KDIR) M=$(CURDIR) CONFIG_KUNIT= modules

modules:
	scripts/setup $(GUESTS)
	for guest in $(GUESTS); do scripts/build-module $$guest || exit; done

lib:
	$(MAKE) -C userspace OUT=$(OUT)

examples: lib
	$(MAKE) -C userspace OUT=$(OUT) examples

tests: examples
	$(MAKE) -C tests OUT=$(OUT)
	$(MAKE) -C userspace OUT=$(OUT) tool

tool:
	$(MAKE) -C userspace OUT=$(OUT) tool

htmldocs:
	@command -v sphinx-build >/dev/null && command -v dot >/dev/null || { \
		echo "make: no sphinx-build or dot; install python3-sphinx, furo and graphviz" >&2; exit 1; }
	sphinx-build -b html -W --keep-going -n -q -d $(OUT)/doctrees Documentation $(OUT)/htmldocs

setup:
	scripts/setup

check: setup
	scripts/check

kunit: setup
	scripts/check -g uml -s kunit

soak:
	scripts/setup $(addprefix -p ,demo check docs packages soak) $(GUESTS) newest kcsan
	scripts/check -f tests/soak.conf $(if $(TIME),-t $(TIME))

bench: setup
	scripts/perf

demo:
	scripts/demo

vm: setup
	scripts/vm $(GUEST)

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
	$(MAKE) -C $(KDIR) M=$(CURDIR) CONFIG_KUNIT= modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=updates modules_install
	$(MAKE) -C $(HERE)scripts/packaging install-boot
	$(if $(DESTDIR),,depmod -a $(RELEASE))

uninstall-module:
	$(MAKE) -C $(HERE)scripts/packaging uninstall-boot
	rm -f $(DESTDIR)/lib/modules/$(RELEASE)/updates/rdma_cm_alt.ko*
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

.PHONY: all help module modules lib tool examples tests htmldocs setup check kunit soak bench demo vm clean deb rpm \
	install install-module install-lib install-tool install-host install-dkms \
	uninstall uninstall-module uninstall-lib uninstall-tool uninstall-host uninstall-dkms
