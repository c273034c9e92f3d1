/* SPDX-License-Identifier: MIT */
/* metrics_rights.c - see metrics_rights.h */
#include "bpf/metrics/metrics_rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534u

#define RIGHT(number) (UINT64_C(1) << (number))
#define TO_READ       (RIGHT(CAP_SYS_PTRACE) | RIGHT(CAP_DAC_READ_SEARCH))
#define TO_WRITE      RIGHT(CAP_DAC_OVERRIDE)

/* Keep the permitted ones among @rights, and give up all others for good. */
static int keep(uint64_t rights)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) != 0)
		return -errno;
	for (unsigned i = 0; i < 2; i++) {
		uint32_t part = (uint32_t)(rights >> 32 * i);

		data[i].permitted &= part;
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) != 0 ? -errno : 0;
}

/* Become user NOBODY. The capabilities stay permitted until keep(). In a
 * container, root may not be allowed to change its user (EPERM), or the user
 * may not exist there (EINVAL): then it stays root. */
static int leave_root(void)
{
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 &&
	    setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	    setresuid(NOBODY, NOBODY, NOBODY) == 0)
		return 0;
	return errno == EPERM || errno == EINVAL ? 0 : -errno;
}

int metrics_drop_rights(bool writes)
{
	int err = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	if (!writes && geteuid() == 0)
		err = leave_root();
	return err != 0 ? err : keep(TO_READ | (writes ? TO_WRITE : 0));
}
