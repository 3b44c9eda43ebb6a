/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a fuzz target over the files of a corpus folder: the plain-test form of a fuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *exact;
	long size;

	if (!f || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0) {
		perror(path);
		return 1;
	}
	rewind(f);
	/* Exactly as long as the file, so that a sanitizer sees any read past its end. */
	exact = malloc(size ? (size_t)size : 1);
	if (!exact || fread(exact, 1, (size_t)size, f) != (size_t)size) {
		perror(path);
		return 1;
	}
	fclose(f);
	LLVMFuzzerTestOneInput(exact, (size_t)size);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	char path[4096];
	struct dirent *entry;
	unsigned files = 0;
	DIR *dir;

	if (argc != 2 || !(dir = opendir(argv[1]))) {
		fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
		return 2;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		if (replay(path))
			return 1;
		files++;
	}
	closedir(dir);
	printf("%u files replayed\n", files);
	return files ? 0 : 1;
}
