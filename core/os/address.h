/* SPDX-License-Identifier: MIT */
/* address.h - addresses of code, for people */
#ifndef SKUA_CORE_OS_ADDRESS_H
#define SKUA_CORE_OS_ADDRESS_H

/* Bytes of text of an address, the 0 at the end included; longer ones are cut. */
#define ADDRESS_TEXT 128

/* address_print - as addr2line takes it: file+offset; or the number alone */
void address_print(char text[ADDRESS_TEXT], const void *address);

#endif
