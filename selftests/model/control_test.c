// SPDX-License-Identifier: GPL-2.0
/* The control channel's language and its sockets, on the devices of test_tiny.h. */
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "engine.h"
#include "tap.h"
#include "test_guest.h"
#include "test_tiny.h"

static int channel;
static FILE *answers;
static char answer[1 << 16];

static int connect_channel(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = 5 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strncpy(addr.sun_path, tiny_model.control, sizeof(addr.sun_path) - 1);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	REQUIRE(!connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return fd;
}

static void set_up(void)
{
	tiny_start();
	channel = connect_channel();
	answers = fdopen(channel, "r");
}

static void tear_down(void)
{
	fclose(answers);
	tiny_stop();
}

static void send_bytes(const char *bytes, size_t len)
{
	REQUIRE(send(channel, bytes, len, MSG_NOSIGNAL) == (ssize_t)len);
}

/* the next answer, without its newline; "" if there is none for five seconds */
static const char *next_answer(void)
{
	answer[0] = 0;
	if (!fgets(answer, sizeof(answer), answers))
		clearerr(answers);
	answer[strcspn(answer, "\n")] = 0;
	return answer;
}

static const char *ask(const char *line)
{
	send_bytes(line, strlen(line));
	send_bytes("\n", 1);
	return next_answer();
}

static void violate(unsigned int count)
{
	engine_lock();
	for (unsigned int i = 0; i < count; i++)
		model_violation(&tiny_model.tiny[0]->dev, "mistake %u", i);
	engine_unlock();
}

TEST(list)
{
	set_up();
	CHECK_STR(ask("* list"), "ok tiny0 tiny 02:00:00:00:00:00 detached; "
				 "tiny1 tiny 02:00:00:00:00:01 detached");
	CHECK_STR(ask("tiny1 list"), "ok tiny1 tiny 02:00:00:00:00:01 detached");
	tear_down();
}

TEST(list_shows_the_state)
{
	struct guest g;

	set_up();
	guest_open(&g);
	REQUIRE(guest_boot(&g, tiny_model.socket[0]));
	CHECK_CONTAINS(ask("tiny0 list"), " attached");
	CHECK_STR(ask("tiny0 stop"), "ok");
	CHECK_CONTAINS(ask("tiny0 list"), " stopped");
	CHECK_STR(ask("tiny0 gone"), "ok");
	CHECK_CONTAINS(ask("tiny0 list"), " gone");
	CHECK_CONTAINS(ask("tiny1 list"), " detached");
	guest_close(&g);
	tear_down();
}

/* GIDs are written in groups of four digits */
TEST(list_long_addresses_and_none)
{
	struct fabric_port *port;

	set_up();
	engine_lock();
	port = &tiny_model.tiny[0]->port;
	port->addr_len = 16;
	memcpy(port->addr, (uint8_t [16]) { 0xfe, 0x80, [15] = 9 }, 16);
	fabric_detach(&tiny_model.tiny[1]->port);
	engine_unlock();
	CHECK_STR(ask("* list"), "ok tiny0 tiny fe80:0000:0000:0000:0000:0000:0000:0009 detached; "
				 "tiny1 tiny - detached");
	tear_down();
}

TEST(help)
{
	set_up();
	CHECK_CONTAINS(ask("* help"), "ok list; help; violations [clear]; stats; ");
	CHECK(!strstr(answer, "echo"));
	CHECK_CONTAINS(ask("tiny0 help"), "drop [skip=N] [count=N]; echo WORD...");
	tear_down();
}

TEST(violations)
{
	set_up();
	CHECK_STR(ask("tiny0 violations"), "ok 0");
	violate(2);
	CHECK_STR(ask("tiny0 violations"), "ok 2 mistake 0; mistake 1");
	CHECK_STR(ask("tiny1 violations"), "ok 0");
	engine_lock();
	model_violation(&tiny_model.tiny[1]->dev, "another");
	engine_unlock();
	CHECK_STR(ask("* violations"), "ok 3 tiny0: mistake 0; tiny0: mistake 1; tiny1: another");
	CHECK_STR(ask("tiny1 violations clear"), "ok");
	CHECK_STR(ask("* violations"), "ok 2 tiny0: mistake 0; tiny0: mistake 1");
	CHECK_STR(ask("tiny0 violations clear"), "ok");
	CHECK_STR(ask("tiny0 violations"), "ok 0");
	CHECK_CONTAINS(ask("tiny0 violations list"), "err usage: violations [clear]");
	tear_down();
}

TEST(more_violations_than_are_kept)
{
	set_up();
	violate(MODEL_VIOLATIONS_KEPT + 36);
	CHECK_CONTAINS(ask("tiny0 violations"), "ok 100 mistake 0; ");
	CHECK_CONTAINS(answer, "; mistake 63; and 36 more");
	CHECK(!strstr(answer, "mistake 64"));
	CHECK_CONTAINS(ask("* violations"), "; tiny0: mistake 63; and 36 more");
	CHECK_STR(ask("* violations clear"), "ok tiny0: ; tiny1: ");
	CHECK_STR(ask("* violations"), "ok 0");
	tear_down();
}

TEST(stats)
{
	struct guest g;

	set_up();
	CHECK_STR(ask("tiny0 stats"), "ok resets=1 net_sent=0 net_received=0 net_dropped=0 "
		  "dma_reads=0 dma_writes=0 dma_bytes=0 "
		  "dma_faults=0 irqs=0 irqs_dropped=0 trapped_reads=0 trapped_writes=0");
	guest_open(&g);
	REQUIRE(guest_boot(&g, tiny_model.socket[0]));
	CHECK(!guest_write(&g, 0, TINY_JOB, 8, 0x1000));
	CHECK(guest_sees(&g, 0x1000 + TINY_JOB_DONE));
	guest_get(&g, 0, TINY_SCRATCH, 4);
	guest_get(&g, 0, TINY_SCRATCH, 4);
	/* the last step of the job, raising an interrupt nobody takes, may be under way */
	engine_lock();
	engine_unlock();
	CHECK_STR(ask("tiny0 stats"), "ok resets=1 net_sent=0 net_received=0 net_dropped=0 "
		  "dma_reads=1 dma_writes=2 dma_bytes=132 "
		  "dma_faults=0 irqs=0 irqs_dropped=1 trapped_reads=2 trapped_writes=1");
	guest_close(&g);
	for (int tries = 0; tries < 5000 && !strstr(ask("tiny0 list"), "detached"); tries++)
		usleep(1000);
	CHECK_STR(ask("tiny0 stats"), "ok resets=2 net_sent=0 net_received=0 net_dropped=0 "
		  "dma_reads=1 dma_writes=2 dma_bytes=132 "
		  "dma_faults=0 irqs=0 irqs_dropped=1 trapped_reads=2 trapped_writes=1");
	tear_down();
}

TEST(gone_back_reset)
{
	set_up();
	CHECK_STR(ask("tiny0 gone"), "ok");
	CHECK_STR(ask("tiny0 gone"), "ok");
	engine_lock();
	CHECK(tiny_model.slot[0]->gone);
	CHECK_EQ(tiny_model.tiny[0]->resets, 2);
	engine_unlock();
	CHECK_STR(ask("tiny0 back"), "ok");
	CHECK_STR(ask("tiny0 back"), "ok");
	CHECK_STR(ask("tiny0 reset"), "ok");
	engine_lock();
	CHECK(!tiny_model.slot[0]->gone);
	CHECK_EQ(tiny_model.tiny[0]->resets, 4);
	engine_unlock();
	CHECK_CONTAINS(ask("tiny0 gone now"), "err usage: gone");
	CHECK_CONTAINS(ask("tiny0 back now"), "err usage: back");
	CHECK_CONTAINS(ask("tiny0 reset now"), "err usage: reset");
	/* the device may have something to say about it, which resets nothing here */
	CHECK_STR(ask("tiny0 reset slowly"), "ok so be it");
	CHECK_CONTAINS(ask("tiny0 stats"), "ok resets=4 ");
	tear_down();
}

TEST(stop_and_cont)
{
	struct guest g;

	set_up();
	guest_open(&g);
	REQUIRE(guest_boot(&g, tiny_model.socket[0]));
	CHECK_STR(ask("tiny0 stop"), "ok");
	CHECK(!guest_write(&g, 0, TINY_JOB, 8, 0x1000));
	usleep(20000);
	CHECK_EQ(g.memory[0x1000 + TINY_JOB_DONE], 0);
	CHECK_STR(ask("tiny0 cont"), "ok");
	CHECK(guest_sees(&g, 0x1000 + TINY_JOB_DONE));
	CHECK_CONTAINS(ask("tiny0 stop now"), "err usage: stop");
	guest_close(&g);
	tear_down();
}

static bool link_is_up(void)
{
	bool up;

	engine_lock();
	up = tiny_model.tiny[0]->link_up;
	engine_unlock();
	return up;
}

TEST(link_up_and_down)
{
	set_up();
	CHECK_STR(ask("tiny0 link up"), "ok");
	CHECK(link_is_up());
	CHECK_STR(ask("tiny0 link down"), "ok");
	CHECK(!link_is_up());
	CHECK_CONTAINS(ask("tiny0 link"), "err usage: link up|down");
	CHECK_CONTAINS(ask("tiny0 link sideways"), "err usage: link up|down");
	tear_down();
}

static void check_drop(unsigned int skip, unsigned int count)
{
	engine_lock();
	CHECK_EQ(tiny_model.tiny[0]->port.drop_skip, skip);
	CHECK_EQ(tiny_model.tiny[0]->port.drop_count, count);
	engine_unlock();
}

TEST(drop)
{
	set_up();
	CHECK_STR(ask("tiny0 drop skip=3 count=5"), "ok left=0");
	check_drop(3, 5);
	CHECK_STR(ask("tiny0 drop"), "ok left=5");
	check_drop(0, 1);
	CHECK_STR(ask("tiny0 drop count=0"), "ok left=1");
	check_drop(0, 0);
	CHECK_CONTAINS(ask("tiny0 drop count=many"), "err count must be a number");
	CHECK_CONTAINS(ask("tiny0 drop 3"),
		       "err '3' must be key=value with one of the keys skip, count");
	engine_lock();
	fabric_detach(&tiny_model.tiny[0]->port);
	engine_unlock();
	CHECK_CONTAINS(ask("tiny0 drop"), "err this device has no port");
	tear_down();
}

static uint32_t delay_of(int i)
{
	uint32_t ms;

	engine_lock();
	ms = tiny_model.slot[i]->task.delay_ms;
	engine_unlock();
	return ms;
}

TEST(delay)
{
	set_up();
	CHECK_STR(ask("tiny0 delay ms=25"), "ok");
	CHECK_EQ(delay_of(0), 25);
	CHECK_EQ(delay_of(1), 0);
	CHECK_STR(ask("tiny0 delay ms=0"), "ok");
	CHECK_EQ(delay_of(0), 0);
	CHECK_CONTAINS(ask("tiny0 delay"), "err usage: delay ms=N");
	CHECK_CONTAINS(ask("tiny0 delay ms=60001"), "err ms must be a number from 0 to 60000");
	tear_down();
}

TEST(inject)
{
	set_up();
	CHECK_STR(ask("tiny0 inject op=job nth=2 action=fail status=7"), "ok");
	CHECK_STR(ask("tiny0 inject list"), "ok op=job nth=2 count=1 action=fail status=7");
	CHECK_STR(ask("tiny1 inject list"), "ok");
	CHECK_STR(ask("tiny0 inject clear"), "ok");
	CHECK_STR(ask("tiny0 inject list"), "ok");
	CHECK_STR(ask("tiny0 inject op=jab action=drop"), "err op must be one of job, *");
	tear_down();
}

TEST(verbs_of_the_device)
{
	set_up();
	CHECK_STR(ask("tiny0 echo one"), "ok one");
	/* what a device writes is one line all the same */
	CHECK_STR(ask("tiny0 echo one two"), "ok one two");
	CHECK_STR(ask("tiny0 echo"), "err");
	CHECK_STR(ask("* echo x"), "ok tiny0: x; tiny1: x");
	CHECK_STR(ask("tiny0 jump"),
		  "err tiny0 has no verb 'jump'; 'tiny0 help' lists those it has");
	CHECK_CONTAINS(ask("* jump"), "err tiny0: tiny0 has no verb 'jump'");
	tear_down();
}

TEST(targets)
{
	set_up();
	CHECK_STR(ask("tiny7 stats"),
		  "err there is no device 'tiny7'; '* list' names those there are");
	CHECK_CONTAINS(ask("tiny0"), "err a target is followed by a verb");
	CHECK_CONTAINS(ask("*"), "err a target is followed by a verb");
	CHECK_CONTAINS(ask("list"), "err there is no device 'list'");
	tear_down();
}

TEST(blanks)
{
	set_up();
	CHECK_STR(ask("  tiny0 \t echo   one\r"), "ok one");
	/* nothing said, nothing answered */
	send_bytes("\n \t\r\n\n", 6);
	CHECK_STR(ask("tiny0 echo two"), "ok two");
	tear_down();
}

TEST(lines_in_pieces_and_together)
{
	set_up();
	send_bytes("tiny0 ec", 8);
	usleep(5000);
	send_bytes("ho one\ntiny1 echo two\ntiny0 e", 29);
	CHECK_STR(next_answer(), "ok one");
	CHECK_STR(next_answer(), "ok two");
	send_bytes("cho three\n", 10);
	CHECK_STR(next_answer(), "ok three");
	tear_down();
}

TEST(bad_lines_leave_the_connection)
{
	char line[CONTROL_LINE_MAX + 100];
	size_t len = strlen("tiny0 echo ");

	set_up();
	memset(line, 'x', sizeof(line));
	memcpy(line, "tiny0 echo ", len);
	/* the longest */
	line[CONTROL_LINE_MAX] = 0;
	CHECK_EQ(strlen(ask(line)), 3 + CONTROL_LINE_MAX - len);
	/* one byte more, and much more */
	line[CONTROL_LINE_MAX] = 'x';
	line[CONTROL_LINE_MAX + 1] = 0;
	CHECK_STR(ask(line), "err a line has at most 4096 bytes");
	for (int i = 0; i < 100; i++)
		send_bytes(line, CONTROL_LINE_MAX);
	send_bytes("\n", 1);
	CHECK_STR(next_answer(), "err a line has at most 4096 bytes");

	send_bytes("tiny0 echo a\0b\n", 15);
	CHECK_STR(next_answer(), "err a line has no NUL bytes");
	send_bytes("\0\n", 2);
	CHECK_STR(next_answer(), "err a line has no NUL bytes");

	memset(line, 0, sizeof(line));
	for (int i = 0; i < 63; i++)
		strcat(line, "w ");
	CHECK_STR(ask(line), "err there is no device 'w'; '* list' names those there are");
	strcat(line, "w");
	CHECK_STR(ask(line), "err a line has fewer than 64 words");
	CHECK_STR(ask("tiny0 echo alive"), "ok alive");
	tear_down();
}

TEST(several_clients)
{
	int other, half;

	set_up();
	half = connect_channel();
	REQUIRE(send(half, "tiny0 ec", 8, 0) == 8);
	other = connect_channel();
	CHECK_STR(ask("tiny0 echo one"), "ok one");
	REQUIRE(send(other, "tiny1 echo two\n", 15, 0) == 15);
	memset(answer, 0, sizeof(answer));
	CHECK_EQ(recv(other, answer, 7, MSG_WAITALL), 7);
	CHECK_STR(answer, "ok two\n");
	close(other);
	close(half);
	CHECK_STR(ask("tiny0 echo three"), "ok three");
	tear_down();
}

/* answers wait for a client that does not read, and other clients do not wait for it */
TEST(slow_readers)
{
	enum { LINES = 20 };
	int other;

	/* few short questions, answers that no socket buffer holds */
	set_up();
	engine_lock();
	for (int i = 0; i < MODEL_VIOLATIONS_KEPT; i++)
		model_violation(&tiny_model.tiny[0]->dev, "%01000d", i);
	engine_unlock();
	other = connect_channel();
	for (int i = 0; i < LINES; i++)
		REQUIRE(send(other, "tiny0 violations\n", 17, 0) == 17);
	usleep(100000);
	CHECK_STR(ask("tiny0 echo one"), "ok one");
	for (int lines = 0; lines < LINES;) {
		ssize_t n = recv(other, answer, sizeof(answer), 0);

		REQUIRE(n > 0);
		for (ssize_t i = 0; i < n; i++)
			lines += answer[i] == '\n';
	}
	close(other);
	tear_down();
}

TAP_MAIN
