/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are damaged, or no segments. */
#include <fcntl.h>
#include <sys/stat.h>

#include "segment_rig.h"

static void overwrite(off_t at, const void *p, size_t n)
{
	int fd = open(path, O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, p, n, at), n);
	close(fd);
}

static void put64(off_t at, uint64_t v)
{
	overwrite(at, &v, sizeof(v));
}

/* The former file is at `path`.damaged, and the new one is empty. */
static void set_aside(struct bp_segment *s, const char *word)
{
	const char *why, *aside;
	char damaged[PATH_MAX + 16];

	assert_int_equal(bp_segment_change(s, BP_SEG_DATA, &why, &aside), BP_SEG_QUARANTINED);
	assert_int_equal(bp_segment_quarantined(s), 1);
	if (!strstr(why, word))
		fail_msg("\"%s\" does not say \"%s\"", why, word);
	snprintf(damaged, sizeof(damaged), "%s.damaged", path);
	assert_string_equal(aside, damaged);
	assert_int_equal(access(damaged, R_OK), 0);
	assert_int_equal(*(uint64_t *)bp_segment_table(s, "numbers", 8, 1, NULL), 0);
}

/* Bytes before the first table. */
#define HEADER (64 + 64 * BP_SEG_TABLES_MAX)

/* Another version's or configuration's file is no damaged one. */
static void replaced(struct bp_segment *s)
{
	const char *why, *aside;

	assert_int_equal(bp_segment_change(s, BP_SEG_DATA, &why, &aside), BP_SEG_REPLACED);
	assert_true(strlen(why) > 10);
	assert_string_equal(aside, "");
	assert_int_equal(bp_segment_quarantined(s), 0);
}

static void damage_is_said_and_healed_by_the_owner(void **state)
{
	/* offsets as struct header and struct bp_seg_table have them */
	const off_t table0 = 64, table1 = 128;
	const struct {
		off_t at;
		uint64_t value;
		const char *word;
	} damage[] = {
		{0, 0, "magic"},
		{8, (BP_SEG_ABI + 1) | (uint64_t)N_SPECS << 32, "ABI version"},
		{8, BP_SEG_ABI | (uint64_t)(BP_SEG_TABLES_MAX + 1) << 32, "directory"},
		{8, BP_SEG_ABI | (uint64_t)UINT32_MAX << 32, "directory"},
		{8, BP_SEG_ABI | (uint64_t)4 << 32,
			"directory"}, /* a fourth table without a name */
		{16, 0, "cut short"},
		{16, UINT64_MAX, "cut short"},
		{16, 1ull << 40, "cut short"},
		{16, HEADER + 64, "directory"},
		{table0, 0, "directory"},
		{table0 + 32, 0, "directory"},
		{table0 + 32, 64, "directory"},
		{table0 + 32, HEADER + 8, "directory"},
		{table0 + 32, UINT64_MAX - 63, "directory"},
		{table0 + 40, 0, "directory"},
		{table0 + 40, UINT64_MAX, "directory"},
		{table0 + 40, 1ull << 61, "directory"},
		{table0 + 48, 0, "directory"},
		{table0 + 48, UINT64_MAX, "directory"},
		{table0 + 48, 1ull << 61, "directory"},
		{table0 + 48, 4000, "directory"},
		{table1 + 32, HEADER, "directory"},
	};

	for (unsigned i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		struct bp_segment *s = must(open_as(true));

		assert_true(bp_segment_fresh(s));
		*(uint64_t *)bp_segment_table(s, "numbers", 8, 1, NULL) = 5;
		bp_segment_close(s);
		put64(damage[i].at, damage[i].value);
		refused(attach(), damage[i].word);
		refused(open_as(false), damage[i].word);
		s = must(open_as(true));
		assert_true(bp_segment_fresh(s));
		if (strcmp(damage[i].word, "ABI version") == 0)
			replaced(s);
		else
			set_aside(s, damage[i].word);
		bp_segment_close(s);
		bp_segment_close(must(attach()));
		bp_segment_unlink("t", NULL, dir);
	}
}

static void a_name_without_end_is_damage(void **state)
{
	char name[BP_SEG_TABLE_NAME];

	memset(name, 'x', sizeof(name));
	bp_segment_close(must(open_as(true)));
	overwrite(64, name, sizeof(name));
	refused(attach(), "directory");
}

static void a_file_cut_anywhere_is_refused(void **state)
{
	struct bp_segment *s = must(open_as(true));
	const uint64_t size = bp_segment_size(s);

	bp_segment_close(s);
	for (int64_t cut = (int64_t)size - 4096; cut >= 0; cut -= cut > 8192 ? 1000 : 97) {
		assert_int_equal(truncate(path, cut), 0);
		refused(attach(), "cut short");
		refused(open_as(false), "cut short");
	}
	assert_int_equal(truncate(path, 0), 0);
	refused(attach(), "cut short");
	s = must(open_as(true));
	assert_true(bp_segment_fresh(s));
	bp_segment_close(s);
}

/* Whatever the first bytes are: refused, or every table can be read from end to end. */
static void random_damage(void **state)
{
	uint64_t seed = 5, sum = 0;
	unsigned taken = 0;

	bp_segment_close(must(open_as(true)));
	for (unsigned i = 0; i < 3000; i++) {
		struct bp_segment *s;
		uint8_t saved[256], bytes[256];
		int fd = open(path, O_RDWR);

		assert_int_equal(pread(fd, saved, sizeof(saved), 0), sizeof(saved));
		memcpy(bytes, saved, sizeof(bytes));
		for (unsigned k = 1 + test_below(&seed, 3); k > 0; k--)
			bytes[test_below(&seed, 256)] ^= (uint8_t)(1u << test_below(&seed, 8));
		assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
		s = attach();
		if (s) {
			taken++;
			for (unsigned t = 0; t < N_SPECS; t++) {
				uint64_t capacity;
				const uint8_t *p = bp_segment_table(s, specs[t].name,
					specs[t].element_size, specs[t].version, &capacity);

				for (uint64_t b = 0; p && b < capacity * specs[t].element_size; b++)
					sum += p[b];
			}
			bp_segment_close(s);
		} else {
			assert_true(strlen(err) > 10);
		}
		assert_int_equal(pwrite(fd, saved, sizeof(saved), 0), sizeof(saved));
		close(fd);
	}
	assert_int_equal(sum, 0);
	assert_in_range(taken, 1, 2999);
}

static void what_is_no_file_is_refused(void **state)
{
	assert_int_equal(mkfifo(path, 0600), 0);
	refused(attach(), "regular");
	refused(open_as(true), "regular");
	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	refused(attach(), path);
	refused(open_as(true), path);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	refused(attach(), path);
	rmdir(path);
}

static void a_strangers_file_is_refused(void **state)
{
	if (geteuid() != 0)
		skip();
	bp_segment_close(must(open_as(true)));
	assert_int_equal(chown(path, 12345, 12345), 0);
	bp_segment_close(must(attach())); /* no one else could have put it there */
	assert_int_equal(chmod(dir, 01777), 0);
	refused(attach(), "uid 12345");
	refused(open_as(true), "uid 12345");
	assert_int_equal(chmod(dir, 0700), 0);
}

static uint64_t first_word(const char *file)
{
	uint64_t word = 0;
	int fd = open(file, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &word, sizeof(word), 0), sizeof(word));
	close(fd);
	return word;
}

static void the_newest_damaged_file_is_kept(void **state)
{
	char damaged[PATH_MAX + 16];

	snprintf(damaged, sizeof(damaged), "%s.damaged", path);
	for (uint64_t i = 1; i <= 3; i++) {
		bp_segment_close(must(open_as(true)));
		put64(0, i);
		bp_segment_close(must(open_as(true)));
		assert_int_equal(first_word(damaged), i);
	}
	assert_int_equal(bp_segment_unlink("t", NULL, dir), 0);
	assert_int_equal(access(damaged, F_OK), -1);
}

static void a_header_is_restored_while_it_is_open(void **state)
{
	static const uint8_t zero[4096];
	struct bp_segment *s = must(open_as(true)), *reader;

	*(uint64_t *)bp_segment_table(s, "numbers", 8, 1, NULL) = 5;
	bp_segment_restore(s, BP_SEG_DATA); /* which says that nothing needs to be initialised */
	assert_false(bp_segment_restore(s, BP_SEG_DATA));
	for (unsigned at = 0; at < 4096; at += 8) {
		put64(at, 0x5a5a5a5a5a5a5a5aull);
		assert_true(bp_segment_restore(s, BP_SEG_DATA));
		assert_false(bp_segment_restore(s, BP_SEG_DATA));
		reader = must(attach());
		assert_false(bp_segment_restore(reader, BP_SEG_DATA));
		bp_segment_close(reader);
	}
	overwrite(0, zero, sizeof(zero));
	refused(attach(), "magic");
	assert_true(bp_segment_restore(s, BP_SEG_DATA));
	reader = must(open_as(false));
	assert_false(bp_segment_fresh(reader));
	assert_int_equal(*(uint64_t *)bp_segment_table(reader, "numbers", 8, 1, NULL), 5);
	bp_segment_close(reader);
	bp_segment_close(s);
}

static void a_condemned_part_is_made_anew(void **state)
{
	struct bp_segment *s = must(open_as(true));

	bp_segment_condemn(s, BP_SEG_DATA);
	bp_segment_close(s);
	refused(open_as(false), "invalid contents");
	s = must(open_as(true));
	set_aside(s, "invalid contents");
	bp_segment_close(s);
}

/* A process that does not write the data plane's part does not change it while a data plane runs.
 */
static void a_part_in_use_is_not_replaced_by_another_plane(void **state)
{
	struct bp_segment *s = must(bp_segment_open(
		"t", NULL, dir, specs, N_SPECS, BP_SEG_OWNER | BP_SEG_HOLD, err, sizeof(err)));

	assert_true(bp_segment_in_use("t", NULL, dir));
	put64(0, 0);
	refused(bp_segment_open("t", NULL, dir, specs, N_SPECS, BP_SEG_OWNER | BP_SEG_READ_DATA,
			err, sizeof(err)),
		"magic");
	bp_segment_close(s);
	assert_false(bp_segment_in_use("t", NULL, dir));
	s = must(bp_segment_open(
		"t", NULL, dir, specs, N_SPECS, BP_SEG_OWNER | BP_SEG_READ_DATA, err, sizeof(err)));
	set_aside(s, "magic");
	bp_segment_close(s);
}

static void replacement_of_any_file_is_noticed(void **state)
{
	struct bp_segment *s = must(open_as(true)), *next, *reader;

	reader = must(attach());
	assert_false(bp_segment_replaced(s) || bp_segment_replaced(reader));
	bp_segment_condemn(s, BP_SEG_DATA);
	next = must(open_as(true));
	assert_true(bp_segment_replaced(s) && bp_segment_replaced(reader));
	assert_false(bp_segment_replaced(next));
	assert_int_equal(unlink(path), 0);
	assert_true(bp_segment_replaced(next));
	bp_segment_close(next);
	bp_segment_close(reader);
	bp_segment_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(damage_is_said_and_healed_by_the_owner),
		T(the_newest_damaged_file_is_kept),
		T(a_header_is_restored_while_it_is_open),
		T(a_condemned_part_is_made_anew),
		T(a_part_in_use_is_not_replaced_by_another_plane),
		T(replacement_of_any_file_is_noticed),
		T(a_name_without_end_is_damage),
		T(a_file_cut_anywhere_is_refused),
		T(random_damage),
		T(what_is_no_file_is_refused),
		T(a_strangers_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
