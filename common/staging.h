/*
 * Where staged copies of packs lie, and how one is recognised.
 *
 *   BASE/yolopack-UID/IDENTITY/      BASE: $YPK_STAGE_DIR, /dev/shm; UID: the user's, and nobody else may write there
 *     train-00003.lmdb               under this name only when its bytes are known to be the pack's; others are read
 *     train.index, pack.json …       from the pack
 *     *.partial                      being written, or left by a killed process
 *     leases/                        who uses it
 *     source                         path of the pack, for people
 */
#ifndef YPK_COMMON_STAGING_H
#define YPK_COMMON_STAGING_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

enum { STAGING_BASES = 2 };

/* Directories that are looked through, in this order; returns how many. */
size_t staging_bases(const char *out[STAGING_BASES]);

/* "BASE/yolopack-UID" and "HOME/IDENTITY", malloc'ed; NULL if memory ran out. */
char *staging_home(const char *base);
char *staging_copy(const char *home, uint64_t identity);

/* 0 if `home` is a directory of this user's that no other can write; ERR_NOT_FOUND if it is not there, ERR_INPUT if it
 * is somebody else's: what lies there is not to be trusted. */
int staging_check_home(const char *home, struct error *error);

/* What a pack is, wherever it lies: its splits, what their samples hold, and every shard's length and structure.
 * O(shards). */
int staging_identity(uint64_t *out, const char *pack, struct error *error);

#endif
