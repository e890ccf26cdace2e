/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef COMPAT_RDMA_UVERBS_IOCTL_H
#define COMPAT_RDMA_UVERBS_IOCTL_H

#include <rdma/ib_verbs.h>
#include_next <rdma/uverbs_ioctl.h>

/*
 * Driver data by the rules of 7.2: a request reaches at least to the end of its first
 * release and is zero-extended, what is longer than we know is zero, an answer is cut or
 * filled with zeros.
 */
#ifndef ib_copy_validate_udata_in
static inline int compat_udata_in(struct ib_udata *udata, void *req, size_t known, size_t least)
{
	if (udata->inlen < least)
		return -EINVAL;
	if (udata->inlen > known && !ib_is_udata_cleared(udata, known, udata->inlen - known))
		return -EOPNOTSUPP;
	memset(req, 0, known);
	return ib_copy_from_udata(req, udata, min(known, udata->inlen));
}

#define ib_copy_validate_udata_in(udata, req, last)				\
	compat_udata_in(udata, &(req), sizeof(req), offsetofend(typeof(req), last))

#define ib_copy_validate_udata_in_cm(udata, req, last, valid)			\
({										\
	typeof((req).comp_mask) __valid = (valid);				\
	int __ret = ib_copy_validate_udata_in(udata, req, last);		\
										\
	if (!__ret && (req).comp_mask & ~__valid)				\
		__ret = -EOPNOTSUPP;						\
	__ret;									\
})
#endif

#ifndef ib_respond_udata
static inline int compat_udata_out(struct ib_udata *udata, const void *resp, size_t known)
{
	size_t len = min(known, udata->outlen);

	if (copy_to_user(udata->outbuf, resp, len))
		return -EFAULT;
	if (len < udata->outlen && clear_user(udata->outbuf + len, udata->outlen - len))
		return -EFAULT;
	return 0;
}

#define ib_respond_udata(udata, resp)	compat_udata_out(udata, &(resp), sizeof(resp))
#endif

#ifndef COMPAT_HAVE_UDATA_IN_EMPTY
static inline int ib_is_udata_in_empty(struct ib_udata *udata)
{
	if (!udata || !udata->inlen || ib_is_udata_cleared(udata, 0, udata->inlen))
		return 0;
	return -EOPNOTSUPP;
}

static inline int ib_respond_empty_udata(struct ib_udata *udata)
{
	if (udata && udata->outlen && clear_user(udata->outbuf, udata->outlen))
		return -EFAULT;
	return 0;
}
#endif

#ifndef COMPAT_HAVE_NO_UDATA_IO
static inline int ib_no_udata_io(struct ib_udata *udata)
{
	int ret = ib_is_udata_in_empty(udata);

	return ret ? ret : ib_respond_empty_udata(udata);
}
#endif

#endif /* COMPAT_RDMA_UVERBS_IOCTL_H */
