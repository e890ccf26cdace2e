// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RDMA admin queues. Commands go into a ring of slots (a long one takes two) and each
 * is answered by one completion, in the order of the ring. A completion that does not
 * belong to the oldest command is ignored, whoever it was meant for.
 *
 * A caller sleeps until its answer comes, or looks for it if it must not sleep. While
 * something is running, a watchdog looks into the completion queue too, so that a lost
 * event costs little; and when nothing moves for ANSWER_TIME it declares the device
 * failed. That closes the queues, which answers every command with -ENODEV, but only after
 * the device was reset: whoever gets that answer may free memory that the command spoke of.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "dion.h"

#define AQ_DEPTH_LOG2	9
#define AQ_DEPTH	BIT(AQ_DEPTH_LOG2)
#define AQ_BYTES	(AQ_DEPTH * IONIC_AQ_SLOT)
#define CQ_DEPTH_LOG2	8
#define CQ_DEPTH	BIT(CQ_DEPTH_LOG2)
#define CQ_BYTES	(CQ_DEPTH * IONIC_CQE_SIZE)

#define LOOK_TIME	msecs_to_jiffies(125)
#define ANSWER_TIME	msecs_to_jiffies(5000)	/* choice: as long as ionic.ko waits */

/* Who must not sleep waits for 2 s, as in the in-tree driver. */
#define SPIN_US		10
#define SPINS		(2 * USEC_PER_SEC / SPIN_US)

/**
 * struct command - a command
 * @entry: in dion_aq.waiting or .running
 * @bytes: of the command
 * @size: how many
 * @slots: that it takes
 * @index: of its first slot
 * @result: 0 or a negative errno
 * @done: completed with @result
 * @farewell: what to tell instead, if nobody waits for it
 */
struct command {
	struct list_head entry;
	const u8 *bytes;
	size_t size;
	u32 slots;
	u16 index;
	int result;
	struct completion done;
	struct dion_farewell *farewell;
};

/**
 * struct dion_farewell - a command that destroys an object, and nobody waits for it
 * @command: it
 * @dev: the device
 * @cmd: its bytes
 * @gone: what is done when it is answered
 */
struct dion_farewell {
	struct command command;
	struct dion_dev *dev;
	struct ionic_aq_destroy cmd;
	dion_gone_fn gone;
};

static int status_to_errno(u32 status)
{
	switch (status) {
	case IONIC_AQ_BAD_CMD:
		return -EOPNOTSUPP;
	case IONIC_AQ_BAD_INDEX:
	case IONIC_AQ_BAD_STATE:
	case IONIC_AQ_BAD_TYPE:
	case IONIC_AQ_BAD_ATTR:
	case IONIC_AQ_MSG_TOO_BIG:
		return -EINVAL;
	default:
		return -EIO;
	}
}

static void ring_cq(struct dion_aq *aq, u8 ring, u32 index)
{
	dion_ring_doorbell(aq->dev, aq->dev->eth.rdma.cq.qtype, aq->cq.id, ring, index % CQ_DEPTH);
}

/* ---- to the device ----------------------------------------------------------- */

/* One slot of the ring, and as much of the CQ, is never used: full is not empty. */
static bool fits(const struct dion_aq *aq, const struct command *cmd)
{
	return cmd->slots < AQ_DEPTH - (aq->posted - aq->finished) &&
	       aq->in_flight < CQ_DEPTH - 1;
}

static void fill_slots(struct dion_aq *aq, struct command *cmd)
{
	size_t done, part;

	cmd->index = aq->posted % AQ_DEPTH;
	for (done = 0; done < cmd->size; done += part) {
		part = min_t(size_t, cmd->size - done, IONIC_AQ_SLOT);
		memcpy(aq->slots + aq->posted % AQ_DEPTH * IONIC_AQ_SLOT, cmd->bytes + done, part);
		aq->posted++;
	}
}

static void give_commands(struct dion_aq *aq)
{
	u32 before = aq->posted;
	struct command *cmd;

	lockdep_assert_held(&aq->lock);
	if (aq->paused)
		return;
	while (!list_empty(&aq->waiting)) {
		cmd = list_first_entry(&aq->waiting, struct command, entry);
		if (!fits(aq, cmd))
			break;
		if (!aq->in_flight++) {
			aq->progress = jiffies;
			queue_delayed_work(aq->dev->work, &aq->watchdog, LOOK_TIME);
		}
		fill_slots(aq, cmd);
		list_move_tail(&cmd->entry, &aq->running);
	}
	if (aq->posted != before)
		dion_ring_doorbell(aq->dev, aq->dev->eth.rdma.aq.qtype, aq->id, IONIC_DB_RING_PROD,
				   aq->posted % AQ_DEPTH);
}

/* ---- from the device --------------------------------------------------------- */

static void end_farewell(struct dion_farewell *farewell, int result)
{
	farewell->gone(farewell->dev, le32_to_cpu(farewell->cmd.id), result);
	kfree(farewell);
}

static void finish(struct command *cmd, int result)
{
	list_del(&cmd->entry);
	cmd->result = result;
	/* The caller's stack may be gone after this. */
	if (cmd->farewell)
		end_farewell(cmd->farewell, result);
	else
		complete(&cmd->done);
}

static bool is_new(const struct dion_aq *aq, const struct ionic_aq_cqe *cqe)
{
	u32 color = be32_to_cpu(READ_ONCE(cqe->qid_type_flags)) & IONIC_CQE_COLOR;

	return color == !(aq->answers / CQ_DEPTH % 2);
}

static bool answers(const struct dion_aq *aq, const struct ionic_aq_cqe *cqe,
		    const struct command *cmd)
{
	u32 word = be32_to_cpu(cqe->qid_type_flags);

	return cmd && FIELD_GET(IONIC_CQE_TYPE, word) == IONIC_CQE_ADMIN &&
	       FIELD_GET(IONIC_CQE_QID, word) == aq->id && be16_to_cpu(cqe->index) == cmd->index;
}

static void take_answer(struct dion_aq *aq, const struct ionic_aq_cqe *cqe)
{
	struct command *cmd = list_first_entry_or_null(&aq->running, struct command, entry);
	u32 status = be32_to_cpu(cqe->status);
	int result = 0;

	if (!answers(aq, cqe, cmd)) {
		ibdev_warn_ratelimited(&aq->dev->dvq.ibdev,
				       "admin queue %u: unexpected answer %#x, slot %u\n",
				       aq->id, be32_to_cpu(cqe->qid_type_flags),
				       be16_to_cpu(cqe->index));
		return;
	}
	if (be32_to_cpu(cqe->qid_type_flags) & IONIC_CQE_ERROR) {
		result = status_to_errno(status);
		ibdev_dbg(&aq->dev->dvq.ibdev, "admin command %u: status %u\n", cmd->bytes[0],
			  status);
	}
	aq->finished += cmd->slots;
	aq->in_flight--;
	aq->progress = jiffies;
	finish(cmd, result);
}

/* Return: was there any? Of a device that never stops writing, one lap at a time. */
static bool take_answers(struct dion_aq *aq)
{
	struct ionic_aq_cqe *cqe;
	u32 taken;

	lockdep_assert_held(&aq->lock);
	for (taken = 0; taken < CQ_DEPTH; taken++) {
		cqe = &aq->cqes[aq->answers % CQ_DEPTH];
		if (!is_new(aq, cqe))
			break;
		/* The color comes last: pairs with the device's order of writing. */
		dma_rmb();
		take_answer(aq, cqe);
		aq->answers++;
	}
	if (!taken)
		return false;
	ring_cq(aq, IONIC_DB_RING_PROD, aq->answers);
	give_commands(aq);
	return true;
}

static void arm(struct dion_aq *aq)
{
	lockdep_assert_held(&aq->lock);
	ring_cq(aq, IONIC_DB_RING_CQ_ARM, ++aq->arms);
}

static void notify(struct dion_hw_cq *cq)
{
	struct dion_aq *aq = container_of(cq, struct dion_aq, cq);
	unsigned long flags;

	spin_lock_irqsave(&aq->lock, flags);
	if (aq->open) {
		take_answers(aq);
		arm(aq);
		take_answers(aq);
	}
	spin_unlock_irqrestore(&aq->lock, flags);
}

static void cq_failed(struct dion_hw_cq *cq)
{
	struct dion_aq *aq = container_of(cq, struct dion_aq, cq);

	ibdev_err_ratelimited(&aq->dev->dvq.ibdev, "admin queue %u: its CQ has failed\n", aq->id);
	dion_device_fail(aq->dev);
}

/* The oldest command has waited too long. One that its caller has given up is no longer there. */
static void say_stuck(struct dion_aq *aq)
{
	const struct command *cmd = list_first_entry_or_null(&aq->running, struct command, entry);

	if (!cmd)
		return;
	ibdev_err(&aq->dev->dvq.ibdev, "admin queue %u: no answer to command %u in slot %u\n",
		  aq->id, cmd->bytes[0], cmd->index);
}

static void watch(struct work_struct *work)
{
	struct dion_aq *aq = container_of(to_delayed_work(work), struct dion_aq, watchdog);
	bool stuck = false;

	spin_lock_irq(&aq->lock);
	if (aq->open && !aq->paused) {
		/* Their event was lost, or is on its way: then one arm too many does no harm. */
		if (take_answers(aq))
			arm(aq);
		stuck = aq->in_flight && time_after(jiffies, aq->progress + ANSWER_TIME);
		if (stuck)
			say_stuck(aq);
		else if (aq->in_flight)
			queue_delayed_work(aq->dev->work, &aq->watchdog, LOOK_TIME);
	}
	spin_unlock_irq(&aq->lock);
	if (stuck)
		dion_device_fail(aq->dev);
}

/* ---- callers ----------------------------------------------------------------- */

static struct dion_aq *choose_aq(struct dion_dev *dev)
{
	return &dev->aqs[raw_smp_processor_id() % dev->num_aqs];
}

/* Return: false: no command is accepted any more. */
static bool submit(struct dion_aq *aq, struct command *command)
{
	lockdep_assert_held(&aq->lock);
	if (!aq->open)
		return false;
	list_add_tail(&command->entry, &aq->waiting);
	give_commands(aq);
	return true;
}

static void command_init(struct command *command, const void *cmd)
{
	const struct ionic_aq_header *header = cmd;
	u16 len = le16_to_cpu(header->len);

	*command = (struct command) {
		.bytes = cmd,
		.size = sizeof(*header) + len,
		.slots = IONIC_AQ_SLOTS(len),
	};
	init_completion(&command->done);
}

static bool device_has(const struct dion_dev *dev, u8 op)
{
	return op < dev->eth.rdma.admin_opcodes;
}

/**
 * dion_admin_exec() - have the device execute a command
 * @dev: the device
 * @cmd: begins with its header, see DION_AQ_HEADER()
 *
 * Return: 0, or a negative errno. -ENODEV: the device has failed, or is being removed,
 * and touches no memory any more. -EOPNOTSUPP: it has no such command.
 */
int dion_admin_exec(struct dion_dev *dev, const void *cmd)
{
	const struct ionic_aq_header *header = cmd;
	struct dion_aq *aq = choose_aq(dev);
	struct command command;
	bool submitted;

	if (!device_has(dev, header->op))
		return -EOPNOTSUPP;
	command_init(&command, cmd);
	spin_lock_irq(&aq->lock);
	submitted = submit(aq, &command);
	spin_unlock_irq(&aq->lock);
	if (!submitted)
		return -ENODEV;
	wait_for_completion(&command.done);
	return command.result;
}

/* The answer is not here yet. Its event may have to wait for us, so look for it. */
static bool look_for_answer(struct dion_aq *aq, struct command *command)
{
	unsigned long flags;
	bool done;

	spin_lock_irqsave(&aq->lock, flags);
	if (aq->open && !completion_done(&command->done))
		take_answers(aq);
	done = completion_done(&command->done);
	spin_unlock_irqrestore(&aq->lock, flags);
	return done;
}

/* Return: false: it was answered in the last moment. */
static bool give_up(struct dion_aq *aq, struct command *command)
{
	unsigned long flags;
	bool gone;

	spin_lock_irqsave(&aq->lock, flags);
	gone = !completion_done(&command->done);
	if (gone)
		list_del(&command->entry);
	spin_unlock_irqrestore(&aq->lock, flags);
	return gone;
}

/**
 * dion_admin_exec_atomic() - the same without sleeping
 * @dev: the device
 * @cmd: begins with its header
 *
 * Return: as above, or -ETIMEDOUT: the device fails, and may touch memory that the
 * command speaks of until it has been stopped.
 */
int dion_admin_exec_atomic(struct dion_dev *dev, const void *cmd)
{
	const struct ionic_aq_header *header = cmd;
	struct dion_aq *aq = choose_aq(dev);
	struct command command;
	unsigned long flags;
	bool submitted;
	u32 spins;

	if (!device_has(dev, header->op))
		return -EOPNOTSUPP;
	command_init(&command, cmd);
	spin_lock_irqsave(&aq->lock, flags);
	/* One that is being stopped answers when we let it. */
	submitted = !aq->paused && submit(aq, &command);
	spin_unlock_irqrestore(&aq->lock, flags);
	if (!submitted)
		return -ENODEV;
	for (spins = 0; spins < SPINS; spins++) {
		if (look_for_answer(aq, &command))
			return command.result;
		udelay(SPIN_US);
	}
	if (!give_up(aq, &command))
		return command.result;
	ibdev_err(&dev->dvq.ibdev, "admin queue %u: no answer to command %u in time\n", aq->id,
		  header->op);
	dion_device_fail(dev);
	return -ETIMEDOUT;
}

/**
 * dion_admin_ask_destroy() - ask the device to let go of an object
 * @dev: the device
 * @op: how
 * @id: of the object
 *
 * Return: 0: it has; or a negative errno: it refuses, and may have its reasons.
 */
int dion_admin_ask_destroy(struct dion_dev *dev, enum ionic_aq_op op, u32 id)
{
	const struct ionic_aq_destroy cmd = {
		.header = {
			.op = op,
			.len = cpu_to_le16(sizeof(cmd) - sizeof(cmd.header)),
		},
		.id = cpu_to_le32(id),
	};
	int ret;

	/* choice: AHs (see identity_is_usable()) it overwrites, as the in-tree driver expects */
	if (!device_has(dev, op))
		return 0;
	ret = dion_admin_exec(dev, &cmd);
	return ret == -ENODEV ? 0 : ret;
}

/**
 * dion_admin_refused() - the device has refused to let go of an object, and should not have
 * @dev: the device
 * @op: how it was asked
 * @id: of the object
 * @ret: its answer
 * @refused: of the object, initially false
 *
 * It may still use the memory of the object, so the object has to stay, and its owner can
 * try again; for one that is gone the op does. If that is refused too, nothing short of a
 * reset helps, so that is what happens.
 *
 * Return: 0: the device has let go; or @ret, once in the life of the object.
 */
int dion_admin_refused(struct dion_dev *dev, enum ionic_aq_op op, u32 id, int ret, bool *refused)
{
	ibdev_warn(&dev->dvq.ibdev, "refuses to destroy: command %u, id %#x: %d\n", op, id, ret);
	if (!*refused) {
		*refused = true;
		return ret;
	}
	dion_device_fail(dev);
	flush_work(&dev->fail_work);
	return 0;
}

/**
 * dion_admin_exec_destroy() - have the device let go of an object that nothing keeps
 * @dev: the device
 * @op: how
 * @id: of the object
 * @refused: of the object, initially false
 *
 * Return: as dion_admin_refused().
 */
int dion_admin_exec_destroy(struct dion_dev *dev, enum ionic_aq_op op, u32 id, bool *refused)
{
	int ret = dion_admin_ask_destroy(dev, op, id);

	return ret ? dion_admin_refused(dev, op, id, ret, refused) : 0;
}

/**
 * dion_admin_forget() - have the device let go of an object that it needs no memory of ours for
 * @dev: the device
 * @op: how
 * @id: of the object
 *
 * Nothing is at stake but the number, and the in-tree driver does not look at the answer for an AH;
 * so a device that refuses twice is left alone. Whether somebody could try again the core does not
 * tell for these, so the second try is made at once.
 *
 * Return: has it? Else its number has to stay taken.
 */
bool dion_admin_forget(struct dion_dev *dev, enum ionic_aq_op op, u32 id)
{
	int ret = dion_admin_ask_destroy(dev, op, id);

	if (ret)
		ret = dion_admin_ask_destroy(dev, op, id);
	if (ret)
		ibdev_warn_ratelimited(&dev->dvq.ibdev,
				       "does not let go of a number: command %u, id %#x: %d\n", op, id, ret);
	return !ret;
}

/**
 * dion_farewell_new() - prepare to destroy an object without waiting and without failing
 * @dev: the device
 * @op: how
 * @gone: what to do then
 * @gfp: how to allocate it
 *
 * Return: it, to be given to dion_farewell_send() or dion_farewell_free(); or NULL.
 */
struct dion_farewell *dion_farewell_new(struct dion_dev *dev, enum ionic_aq_op op,
					dion_gone_fn gone, gfp_t gfp)
{
	struct dion_farewell *farewell = kzalloc(sizeof(*farewell), gfp);

	if (!farewell)
		return NULL;
	farewell->dev = dev;
	farewell->gone = gone;
	farewell->cmd.header.op = op;
	farewell->cmd.header.len =
		cpu_to_le16(sizeof(farewell->cmd) - sizeof(farewell->cmd.header));
	return farewell;
}

void dion_farewell_free(struct dion_farewell *farewell)
{
	kfree(farewell);
}

/* In any context. */
void dion_farewell_send(struct dion_farewell *farewell, u32 id)
{
	struct dion_dev *dev = farewell->dev;
	struct dion_aq *aq = choose_aq(dev);
	unsigned long flags;
	bool submitted;

	command_init(&farewell->command, &farewell->cmd);
	farewell->command.farewell = farewell;
	farewell->cmd.id = cpu_to_le32(id);
	/* as in dion_admin_ask_destroy() */
	if (!device_has(dev, farewell->cmd.header.op)) {
		end_farewell(farewell, 0);
		return;
	}
	spin_lock_irqsave(&aq->lock, flags);
	submitted = submit(aq, &farewell->command);
	spin_unlock_irqrestore(&aq->lock, flags);
	if (!submitted)
		end_farewell(farewell, -ENODEV);
}

/* @addr: @length bytes for the device to write */
int dion_admin_exec_stats(struct dion_dev *dev, enum ionic_aq_op op, u32 qp, dma_addr_t addr,
			  size_t length)
{
	const struct ionic_aq_stats cmd = {
		.header = {
			.op = op,
			.len = cpu_to_le16(sizeof(cmd) - sizeof(cmd.header)),
		},
		.addr = cpu_to_le64(addr),
		.length = cpu_to_le32(length),
		.qp = cpu_to_le32(qp),
	};

	return dion_admin_exec(dev, &cmd);
}

/* No command goes to the device any more; those that come wait. */
void dion_admin_pause(struct dion_dev *dev)
{
	unsigned int i;

	for (i = 0; i < dev->num_aqs; i++) {
		spin_lock_irq(&dev->aqs[i].lock);
		dev->aqs[i].paused = true;
		spin_unlock_irq(&dev->aqs[i].lock);
	}
}

static void close_one(struct dion_aq *aq)
{
	struct command *cmd, *next;

	spin_lock_irq(&aq->lock);
	aq->open = false;
	list_splice_tail_init(&aq->waiting, &aq->running);
	list_for_each_entry_safe(cmd, next, &aq->running, entry)
		finish(cmd, -ENODEV);
	aq->in_flight = 0;
	spin_unlock_irq(&aq->lock);
}

/* Every command is answered with -ENODEV from here on. After the reset. */
void dion_admin_close(struct dion_dev *dev)
{
	unsigned int i;

	for (i = 0; i < dev->num_aqs; i++)
		close_one(&dev->aqs[i]);
}

/* ---- begin and end ----------------------------------------------------------- */

static int alloc_rings(struct dion_aq *aq)
{
	struct device *dma_device = dion_dma_device(aq->dev);

	aq->slots = dma_alloc_coherent(dma_device, AQ_BYTES, &aq->slots_dma, GFP_KERNEL);
	if (!aq->slots)
		return -ENOMEM;
	aq->cqes = dma_alloc_coherent(dma_device, CQ_BYTES, &aq->cqes_dma, GFP_KERNEL);
	if (!aq->cqes) {
		dma_free_coherent(dma_device, AQ_BYTES, aq->slots, aq->slots_dma);
		return -ENOMEM;
	}
	return 0;
}

static void free_rings(struct dion_aq *aq)
{
	struct device *dma_device = dion_dma_device(aq->dev);

	dma_free_coherent(dma_device, CQ_BYTES, aq->cqes, aq->cqes_dma);
	dma_free_coherent(dma_device, AQ_BYTES, aq->slots, aq->slots_dma);
}

static int tell_cq(struct dion_aq *aq, u32 eq)
{
	const struct ionic_rdma_queue_req req = {
		.opcode = IONIC_OP_RDMA_CREATE_CQ,
		.lif = cpu_to_le16(aq->dev->eth.lif_index),
		.qid_version = cpu_to_le32(aq->cq.id),
		.target = cpu_to_le32(eq),
		.depth_log2 = CQ_DEPTH_LOG2,
		.stride_log2 = ilog2(IONIC_CQE_SIZE),
		.ring_addr = cpu_to_le64(aq->cqes_dma),
	};

	return dion_ethernet_exec(&aq->dev->eth, &req);
}

static int tell_aq(struct dion_aq *aq)
{
	const struct ionic_rdma_queue_req req = {
		.opcode = IONIC_OP_RDMA_CREATE_AQ,
		.lif = cpu_to_le16(aq->dev->eth.lif_index),
		.qid_version = cpu_to_le32(aq->id),
		.target = cpu_to_le32(aq->cq.id),
		.depth_log2 = AQ_DEPTH_LOG2,
		.stride_log2 = ilog2(IONIC_AQ_SLOT),
		.ring_addr = cpu_to_le64(aq->slots_dma),
	};

	return dion_ethernet_exec(&aq->dev->eth, &req);
}

static int create_one(struct dion_aq *aq, struct dion_dev *dev, unsigned int i)
{
	int ret;

	aq->dev = dev;
	aq->id = le32_to_cpu(dev->eth.rdma.aq.base) + i;
	aq->cq.notify = notify;
	aq->cq.failed = cq_failed;
	spin_lock_init(&aq->lock);
	INIT_LIST_HEAD(&aq->waiting);
	INIT_LIST_HEAD(&aq->running);
	INIT_DELAYED_WORK(&aq->watchdog, watch);

	ret = alloc_rings(aq);
	if (ret)
		return ret;
	ret = dion_qids_get(&dev->cq_ids, BIT(0), &aq->cq.id);
	if (ret)
		goto err_free_rings;
	ret = dion_hw_cq_add(dev, &aq->cq);
	if (ret)
		goto err_put_id;
	return 0;

err_put_id:
	dion_qids_put(&dev->cq_ids, aq->cq.id);
err_free_rings:
	free_rings(aq);
	return ret;
}

static void destroy_one(struct dion_aq *aq)
{
	cancel_delayed_work_sync(&aq->watchdog);
	dion_hw_cq_del(aq->dev, &aq->cq);
	dion_qids_put(&aq->dev->cq_ids, aq->cq.id);
	free_rings(aq);
}

static int tell_both(struct dion_aq *aq, u32 eq)
{
	int ret = tell_cq(aq, eq);

	return ret ?: tell_aq(aq);
}

static void open_one(struct dion_aq *aq)
{
	spin_lock_irq(&aq->lock);
	aq->open = true;
	arm(aq);
	spin_unlock_irq(&aq->lock);
}

/* Not after the device was stopped, which happens once: nobody would close them again. */
static int open_all(struct dion_dev *dev)
{
	unsigned int i;
	int ret = 0;

	mutex_lock(&dev->stop_lock);
	if (dev->stopped)
		ret = -ENODEV;
	for (i = 0; i < dev->num_aqs && !ret; i++)
		open_one(&dev->aqs[i]);
	mutex_unlock(&dev->stop_lock);
	return ret;
}

/**
 * dion_admin_create() - as many admin queues as the device offers, up to DION_MAX_AQ
 * @dev: the device; stopped if that fails, because it may know some of them by then
 *
 * Return: 0, or a negative errno.
 */
int dion_admin_create(struct dion_dev *dev)
{
	u32 wanted = clamp(le32_to_cpu(dev->eth.rdma.aq.count), 1U, DION_MAX_AQ);
	unsigned int i;
	int ret = 0;

	dev->aqs = kcalloc(wanted, sizeof(*dev->aqs), GFP_KERNEL);
	if (!dev->aqs) {
		dion_device_stop(dev);
		return -ENOMEM;
	}
	for (i = 0; i < wanted && !ret; i++) {
		ret = create_one(&dev->aqs[i], dev, i);
		if (!ret)
			dev->num_aqs++;
	}
	/* choice: one that the adapter told of and refuses is a fault; it could be that fewer do */
	for (i = 0; i < wanted && !ret; i++)
		ret = tell_both(&dev->aqs[i], dion_eq_for(dev, i, 0));
	if (!ret)
		ret = open_all(dev);
	if (ret) {
		dion_device_stop(dev);
		dion_admin_destroy(dev);
	}
	return ret;
}

/* The device has been stopped. */
void dion_admin_destroy(struct dion_dev *dev)
{
	unsigned int i;

	for (i = 0; i < dev->num_aqs; i++)
		destroy_one(&dev->aqs[i]);
	dev->num_aqs = 0;
	kfree(dev->aqs);
}
