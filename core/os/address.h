/* SPDX-License-Identifier: MIT */
/* address.h - print addresses of code, for people */
#ifndef SKUA_CORE_OS_ADDRESS_H
#define SKUA_CORE_OS_ADDRESS_H

/* The size of the text of an address in bytes, with the terminating 0. Longer
 * texts are cut. */
#define ADDRESS_TEXT 128

/* address_print - print an address of code as file+offset, which addr2line
 * takes; if its file is unknown, as a number */
void address_print(char text[ADDRESS_TEXT], const void *address);

#endif
