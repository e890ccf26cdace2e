// SPDX-License-Identifier: GPL-2.0
/* The program from outside: its command line, its life and its exit status. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "test_guest.h"

#define WORDS_MAX	16

/* a run: what it was told and what it said */
static struct {
	char program[4096];
	char dir[32];
	pid_t pid;
	int out, err;
	char text[8192];	/* stdout, or stderr after finish() */
} run;

/* the program lies beside this test */
static void set_up(void)
{
	ssize_t len = readlink("/proc/self/exe", run.program, sizeof(run.program) - 16);

	REQUIRE(len > 0);
	run.program[len] = 0;
	strcpy(strrchr(run.program, '/'), "/dvq-model");
	strcpy(run.dir, "/tmp/dvq-main-XXXXXX");
	REQUIRE(mkdtemp(run.dir) && !chdir(run.dir));
}

static void tear_down(void)
{
	unlink("log");
	REQUIRE(!chdir("/"));
	/* fails if a socket was left behind */
	CHECK_EQ(rmdir(run.dir), 0);
}

static void start(const char *arguments)
{
	char *words = strdup(arguments), *argv[WORDS_MAX] = { run.program };
	int out[2], err[2], argc = 1;

	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	REQUIRE(!pipe(out) && !pipe(err));
	run.pid = fork();
	REQUIRE(run.pid >= 0);
	if (!run.pid) {
		dup2(out[1], 1);
		dup2(err[1], 2);
		for (int fd = 3; fd < 20; fd++)
			close(fd);
		alarm(60);
		execv(run.program, argv);
		_exit(99);
	}
	free(words);
	close(out[1]);
	close(err[1]);
	run.out = out[0];
	run.err = err[0];
}

/* to the end of the stream, or to the first line */
static const char *read_text(int fd, bool line)
{
	size_t len = 0;
	ssize_t n;

	while (len < sizeof(run.text) - 1) {
		n = read(fd, run.text + len, line ? 1 : sizeof(run.text) - 1 - len);
		if (n <= 0)
			break;
		len += n;
		if (line && run.text[len - 1] == '\n')
			break;
	}
	run.text[len] = 0;
	return run.text;
}

/* waits for the end; the exit status, or -1 */
static int finish(void)
{
	int status;

	read_text(run.err, false);
	close(run.out);
	close(run.err);
	REQUIRE(waitpid(run.pid, &status, 0) == run.pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void start_ready(const char *arguments)
{
	start(arguments);
	REQUIRE(!strcmp(read_text(run.out, true), "ready\n"));
}

/* ends a run by a signal and returns its exit status; what it printed is in run.text */
static int end_by(int signal)
{
	static char out[sizeof(run.text)];
	int status;

	kill(run.pid, signal);
	strcpy(out, read_text(run.out, false));
	status = finish();
	strcpy(run.text, out);
	return status;
}

static bool is_socket(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISSOCK(st.st_mode);
}

TEST(f80_mistakes_of_the_command_line)
{
	static const struct {
		const char *arguments, *text;
	} cases[] = {
		{ "", "there must be one --control, at least one --device" },
		{ "--control c", "there must be one --control, at least one --device" },
		{ "--device efa,name=a,socket=s", "there must be one --control" },
		{ "--control c --device efa,name=a,socket=s more", "and no other argument" },
		{ "--color red", "usage: dvq-model --control" },
		{ "--control c --device elevator,name=a,socket=s", "must begin with a type" },
		{ "--control c --device name=a,socket=s", "must begin with a type" },
		{ "--control c --device efa,socket=s", "must have name=NAME" },
		{ "--control c --device efa,name=,socket=s", "must have name=NAME" },
		{ "--control c --device efa,name=a;b,socket=s", "must have name=NAME" },
		{ "--control c --device efa,name=*,socket=s", "must have name=NAME" },
		{ "--control c --device efa,name=a234567890123456789012345678901b,socket=s",
		  "must have name=NAME" },
		{ "--control c --device efa,name=a,socket=s --device efa,name=a,socket=t",
		  "that no other has" },
		{ "--control c --device efa,name=a", "must have socket=PATH" },
		{ "--control c --device efa,name=a,socket=s,color=red", "color" },
		{ "--control c --device efa,name=a,socket=no/such/s",
		  "must be a path where a socket" },
		{ "--control no/such/c --device efa,name=a,socket=s",
		  "must be a path where a socket" },
		{ "--control c --device efa,name=a,socket=", "must have 1 to 107 bytes" },
		{ "--control c --device efa,name=a,socket=c",
		  "c must be a new path, or a socket where nobody listens" },
		{ "--control c --log no/such/log --device efa,name=a,socket=s",
		  "--log must name a file that can be written" },
	};

	set_up();
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start(cases[i].arguments);
		CHECK_EQ(finish(), 1);
		CHECK_CONTAINS(run.text, cases[i].text);
	}
	tear_down();
}

TEST(help)
{
	set_up();
	start("--help");
	CHECK_CONTAINS(read_text(run.out, false), "usage: dvq-model --control SOCKET\n");
	CHECK_CONTAINS(run.text, " efa");
	CHECK_EQ(finish(), 0);
	tear_down();
}

TEST(life)
{
	static const int signals[] = { SIGTERM, SIGINT };

	set_up();
	for (unsigned int i = 0; i < 2; i++) {
		start_ready("--control c --device efa,name=a,socket=s "
			    "--device efa,name=b,socket=t");
		CHECK(is_socket("c"));
		CHECK(is_socket("s"));
		CHECK(is_socket("t"));
		CHECK_EQ(end_by(signals[i]), 0);
		CHECK_STR(run.text, "a: 0 violations\nb: 0 violations\n");
		CHECK(!is_socket("c"));
	}
	tear_down();
}

TEST(sockets_left_behind)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "s" };
	int fd;

	set_up();
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	REQUIRE(!bind(fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(fd, 1));
	start("--control c --device efa,name=a,socket=s");
	CHECK_EQ(finish(), 1);
	CHECK_CONTAINS(run.text, "s must be a new path, or a socket where nobody listens");
	CHECK(is_socket("s"));
	close(fd);
	start_ready("--control c --device efa,name=a,socket=s");
	CHECK_EQ(end_by(SIGTERM), 0);
	tear_down();
}

/* a plain file in the way is nobody's to delete */
TEST(files_are_not_replaced)
{
	FILE *file;

	set_up();
	file = fopen("s", "w");
	REQUIRE(file);
	fclose(file);
	start("--control c --device efa,name=a,socket=s");
	CHECK_EQ(finish(), 1);
	CHECK_CONTAINS(run.text, "s must be a new path");
	CHECK_EQ(unlink("s"), 0);
	tear_down();
}

TEST(ends_with_everybody_attached)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "c" };
	struct guest g;
	int fd;

	set_up();
	start_ready("--control c --log log --verbose --device efa,name=a,socket=s");
	guest_open(&g);
	REQUIRE(guest_boot(&g, "s"));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	REQUIRE(!connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	REQUIRE(send(fd, "a violations\na vio", 18, 0) == 18);
	REQUIRE(recv(fd, run.text, 5, MSG_WAITALL) == 5);
	CHECK_EQ(end_by(SIGTERM), 0);
	CHECK_EQ(guest_read(&g, REGION_CONFIG, 0, 4), GUEST_CLOSED);
	close(fd);
	guest_close(&g);
	tear_down();
}

/* what is written to belongs to others, who may leave */
TEST(interrupts_to_a_closed_pipe)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "c" };
	struct guest g;
	int fd, pipes[2];

	set_up();
	start_ready("--control c --device efa,name=a,socket=s");
	guest_open(&g);
	REQUIRE(guest_boot(&g, "s") && !pipe(pipes));
	/* the descriptor of vector 0 (MSI-X, index 2) */
	CHECK_EQ(guest_set_irqs(&g, 0x24, 2, 0, 1, &pipes[1], 1), 0);
	close(pipes[0]);
	close(pipes[1]);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	REQUIRE(!connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	REQUIRE(send(fd, "a irq vector=0\na stats\n", 23, MSG_NOSIGNAL) == 23);
	REQUIRE(recv(fd, run.text, 6, MSG_WAITALL) == 6);
	run.text[recv(fd, run.text, sizeof(run.text) - 1, 0)] = 0;
	CHECK_CONTAINS(run.text, " irqs_dropped=1 ");
	close(fd);
	guest_close(&g);
	CHECK_EQ(end_by(SIGTERM), 0);
	tear_down();
}

TEST(log_file)
{
	struct guest g;
	char text[4096];
	FILE *log;

	set_up();
	start_ready("--control c --log log --verbose --device efa,name=a,socket=s");
	guest_open(&g);
	REQUIRE(guest_boot(&g, "s"));
	guest_close(&g);
	CHECK_EQ(end_by(SIGTERM), 0);
	log = fopen("log", "r");
	REQUIRE(log);
	text[fread(text, 1, sizeof(text) - 1, log)] = 0;
	fclose(log);
	CHECK_CONTAINS(text, " a: guest attached\n");
	CHECK_CONTAINS(text, " a: message version of 20 bytes with 0 descriptors\n");
	CHECK_CONTAINS(text, " a: message dma map of 48 bytes with 1 descriptors\n");
	CHECK_CONTAINS(text, " a: guest detached: the connection has ended\n");
	tear_down();
}

/* a register read from the wrong place is what no driver of this adapter does */
static void violate(void)
{
	struct guest g;

	guest_open(&g);
	REQUIRE(guest_boot(&g, "s"));
	guest_get(&g, 0, 0, 4);
	guest_close(&g);
}

TEST(violations_and_the_exit_status)
{
	set_up();
	start_ready("--control c --device efa,name=a,socket=s,mode=strict");
	violate();
	CHECK_EQ(end_by(SIGTERM), 0);
	CHECK_STR(run.text, "a: 1 violations\n");

	start_ready("--control c --strict-exit --device efa,name=a,socket=s,mode=strict");
	violate();
	CHECK_EQ(end_by(SIGTERM), 3);

	start_ready("--control c --strict-exit --device efa,name=a,socket=s,mode=strict");
	CHECK_EQ(end_by(SIGTERM), 0);
	tear_down();
}

TAP_MAIN
