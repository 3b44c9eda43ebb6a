/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/control/socket.h"

static char dir[] = "/tmp/control-XXXXXX", path[64], why[CONTROL_WHY];

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static int nothing_is_there(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static bool answers(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), err;

	strcpy(to.sun_path, path);
	err = connect(fd, (struct sockaddr *)&to, sizeof(to));
	close(fd);
	return err == 0;
}

static int open_it(void)
{
	int fd = control_socket_open(path, why);

	assert_true(fd >= 0);
	return fd;
}

static void the_socket_is_the_owners_alone(void **state)
{
	struct stat st;
	mode_t mask = umask(0);
	int fd = open_it();

	(void)state;
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(umask(mask), 0); /* is as it was */
	assert_true(answers());
	close(fd);
	assert_int_equal(lstat(path, &st), 0); /* stays: there is no right to remove it */
}

/* The process that left the file has ended: its socket no longer listens. */
static void a_stale_one_is_replaced(void **state)
{
	int fd = open_it();

	(void)state;
	close(fd);
	assert_false(answers());
	fd = open_it();
	assert_true(answers());
	close(fd);
}

static void a_live_one_is_left_alone(void **state)
{
	int live = open_it();

	(void)state;
	assert_int_equal(control_socket_open(path, why), ERR_IO);
	assert_non_null(strstr(why, "another process answers"));
	assert_true(answers());
	close(live);
}

/* The reason says what an operator has to do. */
static void a_missing_folder_is_named(void **state)
{
	char nowhere[128];

	(void)state;
	snprintf(nowhere, sizeof(nowhere), "%s/none/socket", dir);
	assert_int_equal(control_socket_open(nowhere, why), ERR_IO);
	assert_non_null(strstr(why, "No such file or directory"));
	assert_non_null(strstr(why, "make its folder before the start, as RuntimeDirectory="));
}

/* A process whose queue of connections is full still lives: its socket is not replaced. */
static void a_busy_one_is_left_alone(void **state)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int busy = socket(AF_UNIX, SOCK_STREAM, 0), waits[8];

	(void)state;
	strcpy(to.sun_path, path);
	assert_int_equal(bind(busy, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(busy, 0), 0);
	for (unsigned i = 0; i < 8; i++) {
		waits[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)!connect(waits[i], (struct sockaddr *)&to, sizeof(to));
	}
	assert_int_equal(control_socket_open(path, why), ERR_IO);
	assert_non_null(strstr(why, "another process answers"));
	for (unsigned i = 0; i < 8; i++)
		close(waits[i]);
	close(busy);
	unlink(path);
}

static void another_file_is_left_alone(void **state)
{
	FILE *f = fopen(path, "w");

	(void)state;
	fputs("precious", f);
	fclose(f);
	assert_int_equal(control_socket_open(path, why), ERR_IO);
	assert_non_null(strstr(why, "another file"));
	assert_int_equal(access(path, R_OK), 0);
	unlink(path);
	/* The target of a link is left alone, too. */
	assert_int_equal(symlink("/nowhere/at/all", path), 0);
	assert_int_equal(control_socket_open(path, why), ERR_IO);
	unlink(path);
}

static void paths_are_bounded(void **state)
{
	char text[CONTROL_PATH_BYTES + 1];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[0] = '/';
	text[CONTROL_PATH_BYTES] = '\0';
	assert_int_equal(control_socket_open(text, why), ERR_IO);
	assert_non_null(strstr(why, "longer"));
	assert_int_equal(control_socket_open("/nowhere/at/all", why), ERR_IO);
	assert_non_null(strstr(why, "cannot bind"));
}

static void leave_stale(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	unlink(path);
	strcpy(at.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	close(fd);
}

/* Together with another process. Return: whether this one has the place; it keeps it until both know. */
static bool race(atomic_uint *count)
{
	int fd;

	atomic_fetch_add(count, 1);
	while (atomic_load(count) < 2)
		sched_yield();
	fd = control_socket_open(path, why);
	atomic_fetch_add(count, 1);
	while (atomic_load(count) < 4)
		sched_yield();
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Each found what a dead process left. */
static void of_two_at_once_one_has_it(void **state)
{
	atomic_uint *count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(count != MAP_FAILED);
	for (unsigned i = 0; i < 100; i++) {
		bool mine;
		int status;
		pid_t pid;

		leave_stale();
		atomic_store(count, 0);
		pid = fork();
		if (pid == 0)
			_exit(race(count));
		assert_true(pid > 0);
		mine = race(count);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(mine + WEXITSTATUS(status), 1);
	}
	munmap(count, sizeof(*count));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_socket_is_the_owners_alone),
		cmocka_unit_test(a_stale_one_is_replaced),
		cmocka_unit_test(a_missing_folder_is_named),
		cmocka_unit_test(a_live_one_is_left_alone),
		cmocka_unit_test_setup(a_busy_one_is_left_alone, nothing_is_there),
		cmocka_unit_test(of_two_at_once_one_has_it),
		cmocka_unit_test_setup(another_file_is_left_alone, nothing_is_there),
		cmocka_unit_test(paths_are_bounded),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
