// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What is taken from ionic.ko, the Ethernet driver: functions that it exports, and
 * values that it keeps in private structs. No header has either; ethernet.sh made one
 * from the type information (BTF) of the ionic.ko that this module was compiled for.
 * dion_ethernet_check() compares it with that of the ionic.ko that runs, before
 * anything is read. Nothing outside this file looks into a struct of ionic.ko.
 */
#include <linux/btf.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "dion.h"
#include "ethernet_btf.h"

MODULE_INFO(import_ns, "NET_IONIC");

#define X(owner, bytes, members)	SIZE_##owner = bytes,
enum { DION_BTF_STRUCTS(X) };
#undef X

#define X(owner, member, index, offset, bytes)	\
	OFFSET_##owner##_##member = offset,	\
	SIZE_##owner##_##member = bytes,
enum { DION_BTF_MEMBERS(X) };
#undef X

#define ADDRESS(base, owner, member) \
	((void *)((char *)(base) + OFFSET_##owner##_##member))

/* The value of a member; the type has to fit. */
#define MEMBER(type, base, owner, member) ({				\
	static_assert(sizeof(type) == SIZE_##owner##_##member);	\
	*(type *)ADDRESS(base, owner, member);				\
})

/* ---- is it the one that we were compiled for? -------------------------------- */

static const struct known_struct {
	const char *name;
	u32 bytes;
	u32 members;
} known_structs[] = {
#define X(owner, bytes, members)	{ #owner, bytes, members },
	DION_BTF_STRUCTS(X)
#undef X
};

static const struct known_member {
	const char *owner;
	u32 index;
	u32 offset;
} known_members[] = {
#define X(owner, member, index, offset, bytes)	{ #owner, index, offset },
	DION_BTF_MEMBERS(X)
#undef X
};

static const struct known_function {
	const char *name;
	u32 params;
	u32 pointers;
} known_functions[] = {
#define X(function, params, pointers)	{ #function, params, pointers },
	DION_BTF_FUNCTIONS(X)
#undef X
};

static bool members_match(const struct known_struct *known, const struct btf_type *type)
{
	const struct known_member *member;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known_members); i++) {
		member = &known_members[i];
		if (!strcmp(member->owner, known->name) &&
		    btf_member_bit_offset(type, member->index) != BITS_PER_BYTE * member->offset)
			return false;
	}
	return true;
}

static bool struct_matches(const struct known_struct *known, const struct btf_type *type)
{
	return type && type->size == known->bytes && btf_type_vlen(type) == known->members &&
	       members_match(known, type);
}

static bool is_pointer(const struct btf *btf, u32 id)
{
	const struct btf_type *type = btf_type_by_id(btf, id);

	while (type && btf_type_is_typedef(type))
		type = btf_type_by_id(btf, type->type);
	return type && btf_type_is_ptr(type);
}

static bool function_matches(const struct known_function *known, const struct btf *btf,
			     const struct btf_type *function)
{
	const struct btf_type *proto;
	const struct btf_param *params;
	u32 i;

	proto = function ? btf_type_by_id(btf, function->type) : NULL;
	if (!proto || btf_type_vlen(proto) != known->params)
		return false;
	params = btf_params(proto);
	for (i = 0; i < known->params; i++)
		if (is_pointer(btf, params[i].type) != !!(known->pointers & BIT(i)))
			return false;
	return true;
}

/*
 * bpf_find_btf_id() has taken a reference, and there is no btf_put() for modules. Its
 * owner has another one for as long as it is loaded: the kernel always, ionic.ko while
 * we use its symbols. So this is never the last.
 */
static void put_btf(struct btf *btf)
{
	static_assert(sizeof(refcount_t) == SIZE_btf_refcnt);

	refcount_dec(ADDRESS(btf, btf, refcnt));
}

/* The first in the list is struct btf itself, so put_btf() is not used before it is known. */
static bool check_struct(const struct known_struct *known)
{
	bool matches = false;
	struct btf *btf;
	s32 id;

	id = bpf_find_btf_id(known->name, BTF_KIND_STRUCT, &btf);
	if (id < 0)
		return false;
	matches = struct_matches(known, btf_type_by_id(btf, id));
	if (matches || known != known_structs)
		put_btf(btf);
	return matches;
}

static bool check_function(const struct known_function *known)
{
	bool matches;
	struct btf *btf;
	s32 id;

	id = bpf_find_btf_id(known->name, BTF_KIND_FUNC, &btf);
	if (id < 0)
		return false;
	matches = function_matches(known, btf, btf_type_by_id(btf, id));
	put_btf(btf);
	return matches;
}

#define REFUSAL	"the running ionic.ko is not the one that dvq_ionic was compiled for " \
		"(%s %s differs): rebuild dvq_ionic\n"

/**
 * dion_ethernet_check() - compare the running ionic.ko with the one compiled for
 * @dev: for the message
 *
 * Return: 0, or -EINVAL and it has been said why.
 */
int dion_ethernet_check(struct device *dev)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known_structs); i++)
		if (!check_struct(&known_structs[i]))
			return dev_err_probe(dev, -EINVAL, REFUSAL, "struct",
					     known_structs[i].name);
	for (i = 0; i < ARRAY_SIZE(known_functions); i++)
		if (!check_function(&known_functions[i]))
			return dev_err_probe(dev, -EINVAL, REFUSAL, "function",
					     known_functions[i].name);
	return 0;
}

/* ---- what it has told -------------------------------------------------------- */

static u64 queue_features(void *lif, unsigned int type)
{
	static_assert(SIZE_ionic_lif_qtype_info == IONIC_Q_TYPES * SIZE_ionic_qtype_info);

	return MEMBER(u64, ADDRESS(lif, ionic_lif, qtype_info) + type * SIZE_ionic_qtype_info,
		      ionic_qtype_info, features);
}

static void read_express(struct dion_ethernet *eth, void *lif, void *idev)
{
	unsigned int i;

	if (queue_features(lif, IONIC_Q_TX) & IONIC_Q_FEAT_EXPRESS)
		eth->express_queues |= DVQ_IONIC_EXPDB_SQ;
	if (queue_features(lif, IONIC_Q_RX) & IONIC_Q_FEAT_EXPRESS)
		eth->express_queues |= DVQ_IONIC_EXPDB_RQ;

	eth->express_windows[0] = MEMBER(dma_addr_t, idev, ionic_dev, phy_cmb_expdb64_pages);
	eth->express_windows[1] = MEMBER(dma_addr_t, idev, ionic_dev, phy_cmb_expdb128_pages);
	eth->express_windows[2] = MEMBER(dma_addr_t, idev, ionic_dev, phy_cmb_expdb256_pages);
	eth->express_windows[3] = MEMBER(dma_addr_t, idev, ionic_dev, phy_cmb_expdb512_pages);
	for (i = 0; i < DION_EXPRESS_SIZES; i++)
		if (eth->express_windows[i])
			eth->express_sizes |= BIT(i);
}

/* All doorbell pages of the LIF have to be in the BAR, or users would map what is not theirs. */
static int read_doorbells(struct dion_ethernet *eth, void *lif, void *ionic)
{
	void *bar = ADDRESS(ionic, ionic, bars) + SIZE_ionic_dev_bar;
	u64 start = MEMBER(phys_addr_t, bar, ionic_dev_bar, bus_addr);
	u64 length = MEMBER(unsigned long, bar, ionic_dev_bar, len);
	u64 hw_index = MEMBER(unsigned int, lif, ionic_lif, hw_index);
	u64 first;

	eth->pids = MEMBER(unsigned int, lif, ionic_lif, dbid_count);
	first = hw_index * eth->pids;
	if (MEMBER(unsigned int, ionic, ionic, num_bars) < 2 || !PAGE_ALIGNED(start) ||
	    eth->pids < 2 || eth->pids > U16_MAX || first + eth->pids > length >> PAGE_SHIFT) {
		dev_err(&eth->pdev->dev, "no doorbell pages for users: %u in %llu bytes\n",
			eth->pids, length);
		return -ENODEV;
	}
	eth->doorbells = start + (first << PAGE_SHIFT);
	return 0;
}

static int read_values(struct dion_ethernet *eth, void *lif, void *ionic)
{
	void *idev = ADDRESS(ionic, ionic, idev);
	void *info = ADDRESS(idev, ionic_dev, dev_info);
	const struct ionic_lif_identity *identity;

	eth->lif_index = MEMBER(unsigned int, lif, ionic_lif, index);
	eth->kernel_doorbells = MEMBER(u64 __iomem *, lif, ionic_lif, kern_dbpage);
	eth->interrupts = MEMBER(u8 __iomem *, idev, ionic_dev, intr_ctrl);
	eth->eqs = MEMBER(unsigned int, ionic, ionic, neqs_per_lif);
	eth->cmb_bytes = (u64)MEMBER(u32, idev, ionic_dev, cmb_npages) << PAGE_SHIFT;
	eth->asic_rev = MEMBER(u8, info, ionic_devinfo, asic_rev);
	strscpy(eth->fw_version, ADDRESS(info, ionic_devinfo, fw_version),
		min(sizeof(eth->fw_version), SIZE_ionic_devinfo_fw_version));

	identity = MEMBER(const struct ionic_lif_identity *, lif, ionic_lif, identity);
	eth->rdma = identity->rdma;
	read_express(eth, lif, idev);
	return read_doorbells(eth, lif, ionic);
}

/* Cheap signs that we look at what we think. */
static bool is_plausible(const struct dion_ethernet *eth, void *lif, void *ionic,
			 struct auxiliary_device *adev)
{
	return lif && ionic && eth->netdev && &eth->pdev->dev == adev->dev.parent &&
	       eth->pdev->vendor == IONIC_PCI_VENDOR &&
	       eth->netdev->dev.parent == &eth->pdev->dev &&
	       !MEMBER(unsigned int, lif, ionic_lif, kern_pid) &&
	       MEMBER(u64 __iomem *, lif, ionic_lif, kern_dbpage);
}

/**
 * dion_ethernet_open() - read what the Ethernet driver has told of the adapter
 * @eth: where to put it
 * @adev: the auxiliary device that it has made
 *
 * Return: 0, or a negative errno and it has been said why.
 */
int dion_ethernet_open(struct dion_ethernet *eth, struct auxiliary_device *adev)
{
	void *outer = (char *)adev - OFFSET_ionic_aux_dev_adev;
	void *lif = MEMBER(void *, outer, ionic_aux_dev, lif);
	void *ionic = lif ? MEMBER(void *, lif, ionic_lif, ionic) : NULL;
	int ret;

	if (lif && ionic) {
		eth->lif = lif;
		eth->pdev = MEMBER(struct pci_dev *, ionic, ionic, pdev);
		eth->netdev = MEMBER(struct net_device *, lif, ionic_lif, netdev);
	}
	if (!is_plausible(eth, lif, ionic, adev))
		return dev_err_probe(&adev->dev, -ENODEV, "not what ionic.ko makes\n");

	ret = read_values(eth, lif, ionic);
	if (ret)
		return ret;
	netdev_hold(eth->netdev, &eth->tracker, GFP_KERNEL);
	return 0;
}

void dion_ethernet_close(struct dion_ethernet *eth)
{
	netdev_put(eth->netdev, &eth->tracker);
}

/* ---- what it does for us ----------------------------------------------------- */

#define NO_ANSWER	0xff	/* no status that there is */

/**
 * dion_ethernet_exec() - send a command of RDMA queues to the adapter and wait
 * @eth: the adapter
 * @req: IONIC_REQ_SIZE bytes
 *
 * Return: 0, or a negative errno; -ENXIO if the firmware does not run.
 */
int dion_ethernet_exec(const struct dion_ethernet *eth, const void *req)
{
	struct ionic_admin_ctx *ctx;
	struct ionic_resp *resp;
	int ret;

	static_assert(SIZE_ionic_admin_ctx_work == sizeof(struct completion));
	static_assert(SIZE_ionic_admin_ctx_cmd == IONIC_REQ_SIZE);
	static_assert(SIZE_ionic_admin_ctx_comp == sizeof(struct ionic_resp));

	/* Not GFP_KERNEL: the reset of a device that has died must not wait for storage behind it. */
	ctx = kzalloc(SIZE_ionic_admin_ctx, GFP_NOIO);
	if (!ctx)
		return -ENOMEM;
	init_completion(ADDRESS(ctx, ionic_admin_ctx, work));
	memcpy(ADDRESS(ctx, ionic_admin_ctx, cmd), req, IONIC_REQ_SIZE);
	resp = ADDRESS(ctx, ionic_admin_ctx, comp);
	resp->status = NO_ANSWER;

	ret = ionic_adminq_post_wait(eth->lif, ctx);
	/* Without firmware it says 0 and has done nothing. */
	if (!ret && resp->status == NO_ANSWER)
		ret = -ENXIO;
	kfree(ctx);
	return ret;
}

/* The same by registers, for when commands do not get through. What comes of it is not told. */
void dion_ethernet_reset_rdma(const struct dion_ethernet *eth)
{
	ionic_request_rdma_reset(eth->lif);
}

int dion_ethernet_get_interrupt(const struct dion_ethernet *eth, u32 *index, int *vector)
{
	struct ionic_intr_info *intr;
	int ret;

	intr = kzalloc(SIZE_ionic_intr_info, GFP_KERNEL);
	if (!intr)
		return -ENOMEM;
	ret = ionic_intr_alloc(eth->lif, intr);
	if (!ret) {
		*index = MEMBER(unsigned int, intr, ionic_intr_info, index);
		*vector = MEMBER(unsigned int, intr, ionic_intr_info, vector);
	}
	kfree(intr);
	return ret;
}

void dion_ethernet_put_interrupt(const struct dion_ethernet *eth, u32 index)
{
	ionic_intr_free(eth->lif, index);
}

/**
 * dion_ethernet_get_cmb() - reserve 2^@order pages of controller memory
 * @eth: the adapter
 * @order: log2 of the pages, which are contiguous
 * @stride_log2: of an entry of which the last bytes shall be an express doorbell, or 0
 * @page: where to put the first page's number
 * @addr: where to put the address that they are mapped at
 * @express: where to put whether that is a window with express doorbells
 *
 * Return: 0, or a negative errno: there are none left.
 */
int dion_ethernet_get_cmb(const struct dion_ethernet *eth, int order, u8 stride_log2,
			  u32 *page, phys_addr_t *addr, bool *express)
{
	*express = false;
	return ionic_get_cmb(eth->lif, page, addr, order, stride_log2, express);
}

void dion_ethernet_put_cmb(const struct dion_ethernet *eth, u32 page, int order)
{
	ionic_put_cmb(eth->lif, page, order);
}
