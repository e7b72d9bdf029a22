/* A batch that the consumer holds: everybody who uses its memory has a reference to its slot. */
#ifndef YPK_READER_LOADER_H
#define YPK_READER_LOADER_H

#include "slot.h"

/* Another reference to a held slot. */
void loader_retain(struct slot *slot);

/* Gives one back; with the last the slot is filled again, or freed if the loader is gone. From any thread. */
void loader_release(struct slot *slot);

#endif
