// SPDX-License-Identifier: GPL-2.0
/*
 * dvq doctor: from the PCI function upwards, what a program needs to use an adapter. Each layer is looked
 * at only as far as those below it are sound, so what is told is the cause and not what follows from it.
 */
#include <dlfcn.h>
#include <dvq/dvq.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor.h"
#include "report.h"
#include "sysfs.h"

#define PCI		"/sys/bus/pci/devices/%s"
#define NAME		256
#define MEMLOCK_MIN	(8ul << 20)	/* bytes; systemd gives so much, below that ordinary programs fail */
#define MEMLOCK_ENOUGH	(64ul << 20)	/* an opinion */
#define PROVIDER_ABI	1		/* of both stock providers: the only one there has been */

/**
 * struct kind - what differs between the two kinds of adapters
 *
 * @first, @last: PCI device ids
 * @unknown: the first one, up to the end of that sixteen, that the vendor may give the next adapter; choice
 * @major, @minor: the oldest kernel that it can be driven on
 * @in_tree: the kernel's own RDMA driver, which distributions may ship
 * @since: the first rdma-core with its provider
 * @package, @sources: which has the module for DKMS, and where that and make install-dkms put it
 */
struct kind {
	const char *name, *what;
	unsigned int vendor, first, last, unknown;
	unsigned int major, minor;
	const char *module, *in_tree, *provider;
	unsigned int since;
	const char *package, *sources;
};

static const struct kind kinds[] = {
	{ "efa", "Amazon EFA", 0x1d0f, 0xefa0, 0xefa4, 0xefa5, 6, 1, "dvq_efa", "efa", "efa", 27,
	  "dvq-dkms", "/usr/src/dvq-[0-9]*" },
	/* 0x1004 manages the card; up to 0x100f are its other functions, storage and the like */
	{ "ionic", "AMD Pensando", 0x1dd8, 0x1002, 0x1003, 0x1010, 6, 18, "dvq_ionic", "ionic_rdma", "ionic", 61,
	  "dvq-ionic-dkms", "/usr/src/dvq-ionic-[0-9]*" },
};

#define N(array)	(sizeof(array) / sizeof((array)[0]))

static struct utsname machine;

static bool is_ionic(const struct kind *kind)
{
	return !strcmp(kind->name, "ionic");
}

/* ---- kernel and modules --------------------------------------------------------------------- */

static void check_kernel(const struct kind *kind, const char *pci)
{
	unsigned int major = 0, minor = 0;

	sscanf(machine.release, "%u.%u", &major, &minor);
	if (major > kind->major || (major == kind->major && minor >= kind->minor))
		report(LAYER_KERNEL, STATE_OK, pci, NULL, "Linux %s", machine.release);
	else
		report(LAYER_KERNEL, STATE_BAD, pci, "boot a newer kernel",
		       "Linux %s is too old for %s: %u.%u is the first", machine.release, kind->module,
		       kind->major, kind->minor);
}

static bool is_loaded(const char *module)
{
	return sysfs_exists("/sys/module/%s", module);
}

/* a module of the running kernel, in the list that depmod made */
static bool is_installed(const char *module)
{
	char path[PATH_MAX], line[4096], want[NAME];
	bool found = false;
	FILE *in;

	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", machine.release);
	snprintf(want, sizeof(want), "/%s.ko", module);
	in = fopen(path, "re");
	if (!in)
		return false;
	while (!found && fgets(line, sizeof(line), in)) {
		line[strcspn(line, ":")] = 0;
		found = strstr(line, want);
	}
	fclose(in);
	return found;
}

/* the releases of other kernels that have it, with a blank before each */
static bool other_kernels(const char *module, char *text, size_t size)
{
	/* extra/, updates/, updates/dkms/, and where Kbuild puts one of a tree of directories */
	static const char *const places[] = { "*", "*/*", "*/*/*" };
	size_t used = 0;

	text[0] = 0;
	for (unsigned int i = 0; i < N(places); i++) {
		glob_t found;

		sysfs_glob(&found, "/lib/modules/*/%s/%s.ko*", places[i], module);
		for (size_t n = 0; n < found.gl_pathc && used < size; n++) {
			const char *release = found.gl_pathv[n] + strlen("/lib/modules/");

			used += snprintf(text + used, size - used, " %.*s",
					 (int)strcspn(release, "/"), release);
		}
		globfree(&found);
	}
	return text[0];
}

/* the first line that a command of the shell prints; false: none */
static bool ask_shell(const char *command, char *line, size_t size)
{
	FILE *in = popen(command, "re");
	bool ok;

	if (!in)
		return false;
	ok = fgets(line, size, in);
	line[ok ? strcspn(line, "\n") : 0] = 0;
	pclose(in);
	return ok;
}

/*
 * What modinfo says of the file that modprobe would load, compressed or not. false: there is none, or no modinfo,
 * as in containers. It is in directories that only root's path has.
 */
static bool installed_field(const char *module, const char *field, char value[NAME])
{
	char command[2 * NAME];

	snprintf(command, sizeof(command),
		 "PATH=$PATH:/usr/sbin:/sbin modinfo -k '%s' -F %s %s 2> /dev/null", machine.release, field,
		 module);
	return ask_shell(command, value, NAME);
}

/* Is it another one than the file on the disk? Of one version there may be different sources. */
static bool is_outdated(const char *module, char *text, size_t size)
{
	char loaded[NAME], installed[NAME], version[NAME] = "?";

	sysfs_line(version, sizeof(version), "/sys/module/%s/version", module);
	if (installed_field(module, "version", installed) && strcmp(installed, version)) {
		snprintf(text, size, "%s %s is loaded, %s is installed", module, version, installed);
		return true;
	}
	if (sysfs_line(loaded, sizeof(loaded), "/sys/module/%s/srcversion", module) &&
	    installed_field(module, "srcversion", installed) && strcmp(installed, loaded)) {
		snprintf(text, size, "%s %s is loaded, another build of it is installed", module, version);
		return true;
	}
	return false;
}

/*
 * How modules that have been replaced on the disk get loaded. Not by modprobe -r, which removes what they needed as well
 * if nobody else does: of an ionic that is the host's network.
 */
static void advise_reload(char *advice, size_t size)
{
	char modules[NAME] = "";
	unsigned int loaded = 0;
	size_t used = 0;

	for (unsigned int i = 0; i < N(kinds); i++) {
		if (!is_loaded(kinds[i].module))
			continue;
		used += snprintf(modules + used, sizeof(modules) - used, " %s", kinds[i].module);
		loaded++;
	}
	snprintf(advice, size, "reboot, or stop what uses the adapters, then rmmod%s dvq && modprobe%s%s",
		 modules, loaded > 1 ? " -a" : "", modules);
}

/* What is loaded works, so another file on the disk is no fault. */
static void check_loaded(const struct kind *kind, const char *pci)
{
	char version[NAME] = "?", text[4 * NAME], advice[4 * NAME];

	if (is_outdated(kind->module, text, sizeof(text)) || is_outdated("dvq", text, sizeof(text))) {
		advise_reload(advice, sizeof(advice));
		report(LAYER_MODULE, STATE_NOTE, pci, advice, "%s", text);
		return;
	}
	sysfs_line(version, sizeof(version), "/sys/module/%s/version", kind->module);
	report(LAYER_MODULE, STATE_OK, pci, NULL, "%s %s is loaded", kind->module, version);
}

static bool has_headers(void)
{
	return sysfs_exists("/lib/modules/%s/build/Makefile", machine.release);
}

static void advise_build(const struct kind *kind, char *advice, size_t size)
{
	char headers[2 * NAME] = "", conf[NAME];

	if (!has_headers())
		snprintf(headers, sizeof(headers),
			 "install the headers of this kernel (Debian: linux-headers-%s), then ", machine.release);
	if (sysfs_find(conf, sizeof(conf), "%s/dkms.conf", kind->sources))
		snprintf(advice, size, "%sbuild %s for this kernel (dkms autoinstall, or make install)", headers,
			 kind->module);
	else
		snprintf(advice, size, "%sbuild %s for this kernel (the package %s does, or make install)", headers,
			 kind->module, kind->package);
}

/*
 * dvq_ionic needs more of a kernel than its headers, and its sources can tell what of that is not there; "": nothing.
 * They read types for seconds, so they are asked once for all adapters.
 */
static const char *cannot_be_built(const struct kind *kind)
{
	static char why[NAME];
	static bool asked;
	char command[4 * NAME];
	glob_t found;

	if (!is_ionic(kind) || !has_headers())
		return "";
	if (asked)
		return why;
	asked = true;
	sysfs_glob(&found, "%s/kernel/ionic/ethernet.sh", kind->sources);
	if (found.gl_pathc) {
		snprintf(command, sizeof(command), "sh '%s' --check '%s' '/lib/modules/%s/build' 2> /dev/null",
			 found.gl_pathv[found.gl_pathc - 1], machine.release, machine.release);
		ask_shell(command, why, sizeof(why));
	}
	globfree(&found);
	return why;
}

static void check_module(const struct kind *kind, const char *pci)
{
	char others[NAME], advice[4 * NAME];
	const char *why;

	if (is_loaded(kind->module)) {
		check_loaded(kind, pci);
		return;
	}
	if (is_installed(kind->module)) {
		snprintf(advice, sizeof(advice),
			 "modprobe %s (if its key is rejected, have Secure Boot know that: installation.rst)",
			 kind->module);
		report(LAYER_MODULE, STATE_BAD, pci, advice, "%s is installed, but not loaded",
		       kind->module);
		return;
	}
	advise_build(kind, advice, sizeof(advice));
	why = cannot_be_built(kind);
	if (why[0])
		report(LAYER_MODULE, STATE_BAD, pci, advice, "%s cannot be built for this kernel: %s",
		       kind->module, why);
	else if (other_kernels(kind->module, others, sizeof(others)))
		report(LAYER_MODULE, STATE_BAD, pci, advice, "%s is built for%s, not for this kernel, %s",
		       kind->module, others, machine.release);
	else
		report(LAYER_MODULE, STATE_BAD, pci, advice, "%s is not installed", kind->module);
}

/* ---- the Ethernet driver that an ionic's RDMA side stands on --------------------------------- */

static void check_ethernet(const char *pci)
{
	char driver[NAME], name[NAME];

	if (!sysfs_link(driver, sizeof(driver), PCI "/driver", pci)) {
		if (!is_loaded("ionic") && !is_installed("ionic"))
			report(LAYER_ETHERNET, STATE_BAD, pci, "boot a kernel that has ionic.ko (CONFIG_IONIC)",
			       "this kernel has no ionic.ko");
		else if (!is_loaded("ionic"))
			report(LAYER_ETHERNET, STATE_BAD, pci, "modprobe ionic",
			       "the Ethernet driver ionic is not loaded");
		else
			report(LAYER_ETHERNET, STATE_BAD, pci, "look for its reason: dmesg | grep ionic",
			       "the Ethernet driver ionic did not take the adapter");
		return;
	}
	if (strcmp(driver, "ionic")) {
		report(LAYER_ETHERNET, STATE_BAD, pci, "take it away from that driver, and modprobe ionic",
		       "the driver %s has the adapter", driver);
		return;
	}
	if (!sysfs_exists("/sys/kernel/btf/vmlinux") || !sysfs_exists("/sys/kernel/btf/ionic")) {
		report(LAYER_ETHERNET, STATE_BAD, pci,
		       "boot a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_DEBUG_INFO_BTF_MODULES",
		       "ionic.ko carries no type information (BTF), which dvq_ionic needs");
		return;
	}
	if (!sysfs_find(name, sizeof(name), PCI "/ionic.rdma.*", pci)) {
		report(LAYER_ETHERNET, STATE_BAD, pci,
		       "see whether its firmware runs (dmesg | grep ionic); use firmware and a profile with RDMA, and a kernel whose ionic.ko offers it",
		       "ionic.ko offers no RDMA side of this adapter");
		return;
	}
	report(LAYER_ETHERNET, STATE_OK, pci, NULL, "ionic.ko offers %s", name);
}

/* ---- who has the adapter ---------------------------------------------------------------------- */

static bool driver_of(const struct kind *kind, const char *pci, char *driver, size_t size)
{
	bool ok = is_ionic(kind) ? false : sysfs_link(driver, size, PCI "/driver", pci);
	char auxiliary[NAME];

	if (is_ionic(kind) && sysfs_find(auxiliary, sizeof(auxiliary), PCI "/ionic.rdma.*", pci)) {
		ok = sysfs_link(driver, size, PCI "/%s/driver", pci, auxiliary);
		/* on that bus it is module.name */
		if (ok)
			driver[strcspn(driver, ".")] = 0;
	}
	return ok;
}

/*
 * How ours gets what @driver of the kernel has. Not before there is one: the adapter is in use. A driver that is
 * loaded does not look again for what has become free. By rmmod, as in advise_reload().
 */
static void advise_taking(const struct kind *kind, const char *driver, char *advice, size_t size)
{
	char build[2 * NAME];

	if (is_loaded(kind->module) && is_installed(kind->module)) {
		snprintf(advice, size, "rmmod %s %s && modprobe %s", driver, kind->module, kind->module);
	} else if (is_loaded(kind->module)) {
		snprintf(advice, size, "rmmod %s %s, and insmod %s again", driver, kind->module, kind->module);
	} else if (is_installed(kind->module)) {
		snprintf(advice, size, "rmmod %s && modprobe %s", driver, kind->module);
	} else {
		advise_build(kind, build, sizeof(build));
		snprintf(advice, size, "%s, and then rmmod %s && modprobe %s", build, driver, kind->module);
	}
}

static void check_driver(const struct kind *kind, const char *pci)
{
	char driver[NAME], advice[4 * NAME];

	if (!driver_of(kind, pci, driver, sizeof(driver))) {
		snprintf(advice, sizeof(advice), "look for its reason: dmesg | grep %s", kind->module);
		report(LAYER_DRIVER, STATE_BAD, pci, advice, "no driver has taken the %s",
		       is_ionic(kind) ? "RDMA side" : "adapter");
	} else if (!strcmp(driver, kind->module)) {
		report(LAYER_DRIVER, STATE_OK, pci, NULL, "%s has it", driver);
	} else if (!strcmp(driver, kind->in_tree)) {
		advise_taking(kind, driver, advice, sizeof(advice));
		report(LAYER_DRIVER, STATE_BAD, pci, advice,
		       "the kernel's own driver %s has it: direct verbs are those of the stock library",
		       driver);
	} else {
		snprintf(advice, sizeof(advice),
			 "take it away from that driver (driver_override, %s/unbind), and %s %s", driver,
			 is_loaded(kind->module) ? "bind it to" : "modprobe", kind->module);
		report(LAYER_DRIVER, STATE_BAD, pci, advice, "another driver, %s, has it", driver);
	}
}

/* ---- the way to user space -------------------------------------------------------------------- */

/* the device of the PCI function in class infiniband */
static bool rdma_device(const char *pci, char *device, size_t size)
{
	return sysfs_find(device, size, PCI "/infiniband/*", pci);
}

static bool check_uverbs(const char *pci)
{
	char node[NAME], path[PATH_MAX];
	int fd;

	if (!sysfs_exists("/sys/class/infiniband_verbs")) {
		report(LAYER_UVERBS, STATE_BAD, pci, "modprobe ib_uverbs", "ib_uverbs is not loaded");
		return false;
	}
	if (!sysfs_find(node, sizeof(node), PCI "/infiniband_verbs/uverbs*", pci)) {
		report(LAYER_UVERBS, STATE_BAD, pci, "look for the reason: dmesg | grep -i uverbs",
		       "the RDMA device has no uverbs node");
		return false;
	}
	snprintf(path, sizeof(path), "/dev/infiniband/%s", node);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		report(LAYER_UVERBS, STATE_OK, pci, NULL, "%s", path);
		return true;
	}
	if (errno == EACCES || errno == EPERM)
		report(LAYER_UVERBS, STATE_BAD, pci,
		       "give this user access (rdma-core's udev rules: 0666; in a container: pass the device and its cgroup permission)",
		       "no permission to open %s", path);
	else
		report(LAYER_UVERBS, STATE_BAD, pci,
		       "let udev make it (udevadm trigger; in a container: pass the device)",
		       "%s cannot be opened: %s", path, strerror(errno));
	return false;
}

static bool check_abi(const struct kind *kind, const char *pci)
{
	char node[NAME], abi[NAME] = "?";

	if (!sysfs_find(node, sizeof(node), PCI "/infiniband_verbs/uverbs*", pci) ||
	    !sysfs_line(abi, sizeof(abi), PCI "/infiniband_verbs/%s/abi_version", pci, node) ||
	    strtoul(abi, NULL, 10) != PROVIDER_ABI) {
		report(LAYER_ABI, STATE_BAD, pci,
		       "bring kernel module and rdma-core to releases that agree",
		       "the kernel's %s interface is of version %s, lib%s speaks %u", kind->module, abi,
		       kind->provider, PROVIDER_ABI);
		return false;
	}
	report(LAYER_ABI, STATE_OK, pci, NULL, "version %s", abi);
	return true;
}

/* ---- rdma-core -------------------------------------------------------------------------------- */

/* libibverbs.so.1.18.65.0 is of rdma-core 65; 0: who knows. Also the directory it is in */
static unsigned int rdma_core(char dir[PATH_MAX])
{
	unsigned int release = 0;
	char path[PATH_MAX];
	const char *name;
	Dl_info info;

	dir[0] = 0;
	if (!dladdr((void *)ibv_get_device_list, &info) || !realpath(info.dli_fname, path))
		return 0;
	name = strrchr(path, '/');
	snprintf(dir, PATH_MAX, "%.*s", (int)(name - path), path);
	sscanf(name, "/libibverbs.so.%*u.%*u.%u", &release);
	return release;
}

static bool is_listed(const char *device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool found = false;

	for (unsigned int i = 0; list && list[i]; i++)
		found |= !strcmp(ibv_get_device_name(list[i]), device);
	if (list)
		ibv_free_device_list(list);
	return found;
}

static bool is_configured(const char *provider)
{
	return sysfs_exists("/etc/libibverbs.d/%s.driver", provider) ||
	       sysfs_exists("/usr/etc/libibverbs.d/%s.driver", provider) ||
	       sysfs_exists("/usr/local/etc/libibverbs.d/%s.driver", provider);
}

/*
 * Can the provider be loaded? In a process of its own: it would make itself known to our libibverbs. @why is
 * written if not.
 */
static bool loads(const char *path, char *why, size_t size)
{
	int fd[2], status = 1;
	ssize_t n;
	pid_t pid;

	snprintf(why, size, "%s", path);
	if (pipe2(fd, O_CLOEXEC))
		return false;
	pid = fork();
	if (!pid) {
		const char *error = dlopen(path, RTLD_NOW | RTLD_LOCAL) ? "" : dlerror();

		_exit(write(fd[1], error, strlen(error)) > 0);
	}
	close(fd[1]);
	n = read(fd[0], why, size - 1);
	why[n > 0 ? n : 0] = 0;
	close(fd[0]);
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

/* why libibverbs does not list a device that the kernel has */
static void explain_provider(const struct kind *kind, const char *pci, unsigned int release,
			     const char *dir)
{
	char why[NAME];
	glob_t found;

	sysfs_glob(&found, "%s/libibverbs/lib%s-rdmav*.so", dir, kind->provider);
	if (!found.gl_pathc && release && release < kind->since)
		report(LAYER_PROVIDER, STATE_BAD, pci, "install a newer rdma-core",
		       "rdma-core %u has no lib%s: %u is the first", release, kind->provider,
		       kind->since);
	else if (!found.gl_pathc)
		report(LAYER_PROVIDER, STATE_BAD, pci, "apt install ibverbs-providers (of this release of rdma-core)",
		       "there is no lib%s in %s/libibverbs", kind->provider, dir);
	else if (!loads(found.gl_pathv[0], why, sizeof(why)))
		report(LAYER_PROVIDER, STATE_BAD, pci, "install ibverbs-providers and libibverbs of one release",
		       "the provider cannot be loaded: %s", why);
	else if (!is_configured(kind->provider))
		report(LAYER_PROVIDER, STATE_BAD, pci, "apt install --reinstall ibverbs-providers",
		       "libibverbs is not told of lib%s: /etc/libibverbs.d/%s.driver is missing",
		       kind->provider, kind->provider);
	else
		report(LAYER_PROVIDER, STATE_BAD, pci, "install another release of rdma-core",
		       "lib%s of rdma-core %u does not take the adapter", kind->provider, release);
	globfree(&found);
}

static bool check_provider(const struct kind *kind, const char *pci, const char *device)
{
	char dir[PATH_MAX];
	unsigned int release = rdma_core(dir);

	if (!is_listed(device)) {
		explain_provider(kind, pci, release, dir);
		return false;
	}
	report(LAYER_PROVIDER, STATE_OK, pci, NULL, "lib%s of rdma-core %u", kind->provider, release);
	return true;
}

/* ---- the device itself ------------------------------------------------------------------------ */

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int err = ENODEV;

	for (unsigned int i = 0; list && list[i] && !context; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) != 0)
			continue;
		errno = 0;
		context = ibv_open_device(list[i]);
		err = errno ? errno : EIO;
	}
	if (list)
		ibv_free_device_list(list);
	errno = err;
	return context;
}

/* objects that the adapter has to be asked for; 0 or an errno */
static int try_objects(struct ibv_context *context)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = pd ? ibv_create_cq(context, 1, NULL, NULL, 0) : NULL;
	int err = cq ? 0 : errno;

	if (cq)
		err = ibv_destroy_cq(cq);
	if (pd && !err)
		err = ibv_dealloc_pd(pd);
	return err;
}

/* of an ionic the RDMA side alone: its Ethernet may be how this is read */
static void advise_rebind(const struct kind *kind, const char *pci, char *advice, size_t size)
{
	char driver[NAME], device[NAME];

	if (is_ionic(kind)) {
		sysfs_find(device, sizeof(device), PCI "/ionic.rdma.*", pci);
		snprintf(driver, sizeof(driver), "auxiliary/drivers/%s.rdma", kind->module);
	} else {
		snprintf(device, sizeof(device), "%s", pci);
		snprintf(driver, sizeof(driver), "pci/drivers/%s", kind->module);
	}
	snprintf(advice, size,
		 "look into dmesg; bind it again: cd /sys/bus/%s && echo %s > unbind && echo %s > bind",
		 driver, device, device);
}

/*
 * What of an adapter's that could not be made or opened says @err. Not everything is the adapter's fault, and others may use
 * it: only one that is dead is advised to be bound again.
 */
static void report_failure(const struct kind *kind, const char *pci, const char *device, int err)
{
	const char *advice = "look for the reason: dmesg";
	char rebind[4 * NAME];
	bool dead = false;

	switch (err) {
	case EIO:
	case ENODEV:
	case ETIME:
	case ETIMEDOUT:
		advise_rebind(kind, pci, rebind, sizeof(rebind));
		advice = rebind;
		dead = true;
		break;
	case ENOMEM:
		advice = "raise the limit of locked memory (ulimit -l), or free objects of other programs";
		break;
	case EAGAIN:
		advice = "raise rdma.max of this process's cgroup, or free what is counted there (rdma.current)";
		break;
	case EMFILE:
	case ENFILE:
		advice = "raise the limit of open files (ulimit -n)";
		break;
	}
	report(LAYER_DEVICE, STATE_BAD, pci, advice,
	       dead ? "%s does not answer: %s" : "nothing can be made on %s: %s", device, strerror(err));
}

static void check_port(const struct kind *kind, const char *pci, struct ibv_context *context)
{
	char netdev[NAME] = "its interface", advice[4 * NAME];
	struct ibv_port_attr port;
	int err = ibv_query_port(context, 1, &port);

	if (!err && port.state == IBV_PORT_ACTIVE) {
		report(LAYER_DEVICE, STATE_OK, pci, NULL, "%s answers, port active",
		       ibv_get_device_name(context->device));
		return;
	}
	if (is_ionic(kind)) {
		sysfs_find(netdev, sizeof(netdev), PCI "/net/*", pci);
		snprintf(advice, sizeof(advice), "ip link set %s up, and look at the cable", netdev);
	} else {
		advise_rebind(kind, pci, advice, sizeof(advice));
	}
	report(LAYER_DEVICE, STATE_BAD, pci, advice, "the port is %s",
	       err ? strerror(err) : ibv_port_state_str(port.state));
}

static void check_methods(const char *pci, struct ibv_context *context)
{
	struct dvq_device_info info;

	if (dvq_device_query(context, &info, sizeof(info)))
		report(LAYER_METHODS, STATE_BAD, pci, "bring the modules and libdvq to one release",
		       "%s", dvq_reason());
	else
		report(LAYER_METHODS, STATE_OK, pci, NULL, "dvq's methods, version %u", info.abi_version);
}

static void check_device(const struct kind *kind, const char *pci, const char *device)
{
	struct ibv_context *context = open_device(device);
	int err = context ? try_objects(context) : errno;

	if (err) {
		report_failure(kind, pci, device, err);
	} else {
		check_port(kind, pci, context);
		check_methods(pci, context);
	}
	if (context)
		ibv_close_device(context);
}

/* ---- limits ----------------------------------------------------------------------------------- */

static bool may_lock_all(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};

	return !syscall(SYS_capget, &header, data) && data[0].effective & (1u << CAP_IPC_LOCK);
}

static void check_memlock(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY || may_lock_all())
		report(LAYER_LIMITS, STATE_OK, "memlock", NULL, "no limit");
	else if (limit.rlim_cur >= MEMLOCK_ENOUGH)
		report(LAYER_LIMITS, STATE_OK, "memlock", NULL, "%lu MiB",
		       (unsigned long)limit.rlim_cur >> 20);
	else
		report(LAYER_LIMITS, limit.rlim_cur < MEMLOCK_MIN ? STATE_BAD : STATE_NOTE, "memlock",
		       "ulimit -l unlimited; to make it last: /etc/security/limits.d, or LimitMEMLOCK= of the service",
		       "only %lu KiB of memory may be locked, memory regions beyond fail with ENOMEM",
		       (unsigned long)limit.rlim_cur >> 10);
}

static void check_hugepages(void)
{
	char count[NAME];

	if (sysfs_line(count, sizeof(count), "/proc/sys/vm/nr_hugepages"))
		report(LAYER_LIMITS, STATE_NOTE, "hugepages", NULL, "%s reserved", count);
}

/* ---- all of it -------------------------------------------------------------------------------- */

/* its configuration space, not what the kernel has kept of it: what is not there reads as ones */
static bool is_on_the_bus(const char *pci)
{
	unsigned char id[2] = {};
	char path[PATH_MAX];
	FILE *in;

	snprintf(path, sizeof(path), PCI "/config", pci);
	in = fopen(path, "re");
	if (!in)
		return true;
	if (fread(id, 1, sizeof(id), in) < sizeof(id))
		id[0] = 0;
	fclose(in);
	return id[0] != 0xff || id[1] != 0xff;
}

static void check_adapter(const struct kind *kind, const char *pci, unsigned int id)
{
	char device[NAME];

	if (!is_on_the_bus(pci)) {
		report(LAYER_ADAPTER, STATE_BAD, pci,
		       "see whether it is still attached; echo 1 > its remove file in sysfs, then to /sys/bus/pci/rescan",
		       "%s %04x:%04x does not answer on the PCI bus", kind->what, kind->vendor, id);
		return;
	}
	report(LAYER_ADAPTER, STATE_OK, pci, NULL, "%s %04x:%04x", kind->what, kind->vendor, id);
	check_kernel(kind, pci);
	if (is_ionic(kind) && !report_is_bad(pci))
		check_ethernet(pci);
	if (report_is_bad(pci))
		return;
	/* who has it is the better answer where somebody has it */
	if (!driver_of(kind, pci, device, sizeof(device)) || !strcmp(device, kind->module))
		check_module(kind, pci);
	if (!report_is_bad(pci))
		check_driver(kind, pci);
	if (report_is_bad(pci))
		return;
	if (!rdma_device(pci, device, sizeof(device))) {
		report(LAYER_DRIVER, STATE_BAD, pci, "look for the reason: dmesg",
		       "%s has made no RDMA device", kind->module);
		return;
	}
	if (check_uverbs(pci) && check_abi(kind, pci) && check_provider(kind, pci, device))
		check_device(kind, pci, device);
}

typedef void (*adapter_fn)(const struct kind *kind, const char *pci, unsigned int id);

/* each function of the kind's vendor with an id from @first to @last; how many there are */
static unsigned int for_each_function(const struct kind *kind, unsigned int first, unsigned int last,
				      adapter_fn look)
{
	unsigned int found = 0;
	glob_t functions;

	sysfs_glob(&functions, "/sys/bus/pci/devices/*");
	for (size_t i = 0; i < functions.gl_pathc; i++) {
		const char *pci = strrchr(functions.gl_pathv[i], '/') + 1;
		char vendor[NAME], id[NAME];
		unsigned long number;

		if (!sysfs_line(vendor, sizeof(vendor), PCI "/vendor", pci) ||
		    !sysfs_line(id, sizeof(id), PCI "/device", pci) ||
		    strtoul(vendor, NULL, 16) != kind->vendor)
			continue;
		number = strtoul(id, NULL, 16);
		if (number < first || number > last)
			continue;
		look(kind, pci, number);
		found++;
	}
	globfree(&functions);
	return found;
}

static void report_unknown(enum state state, const struct kind *kind, const char *pci, unsigned int id)
{
	report(LAYER_ADAPTER, state, pci, "look for a newer dvq", "%s %04x:%04x is none that this dvq knows",
	       kind->what, kind->vendor, id);
}

static void note_unknown(const struct kind *kind, const char *pci, unsigned int id)
{
	report_unknown(STATE_NOTE, kind, pci, id);
}

static void blame_unknown(const struct kind *kind, const char *pci, unsigned int id)
{
	report_unknown(STATE_BAD, kind, pci, id);
}

int doctor(bool json)
{
	unsigned int known = 0, unknown = 0;

	uname(&machine);
	for (unsigned int i = 0; i < N(kinds); i++)
		known += for_each_function(&kinds[i], kinds[i].first, kinds[i].last, check_adapter);
	for (unsigned int i = 0; i < N(kinds); i++)
		unknown += for_each_function(&kinds[i], kinds[i].unknown, kinds[i].unknown | 0xf,
					     known ? note_unknown : blame_unknown);
	if (!known && !unknown)
		report(LAYER_ADAPTER, STATE_BAD, "PCI",
		       "attach one (EC2: a network interface of type EFA), or pass it through to this machine",
		       "there is neither an EFA nor an ionic adapter");
	check_memlock();
	check_hugepages();
	return report_print(json);
}
