/* SPDX-License-Identifier: MIT */
/* address.c - see address.h */
#include "core/os/address.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void address_print(char text[ADDRESS_TEXT], const void *address)
{
	Dl_info info;
	const char *name;

	if (!address || !dladdr(address, &info) || !info.dli_fname) {
		snprintf(text, ADDRESS_TEXT, "%p", address);
		return;
	}
	name = strrchr(info.dli_fname, '/');
	snprintf(text, ADDRESS_TEXT, "%s+0x%tx",
		 name ? name + 1 : info.dli_fname,
		 (const char *)address - (const char *)info.dli_fbase);
}
