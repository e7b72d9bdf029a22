/* Records to payloads, each step checked against the one before: what the loader's workers use of the decoder. */
#ifndef YPK_READER_DECODER_H
#define YPK_READER_DECODER_H

#include "dataset.h"
#include "error.h"
#include "record.h"

struct ypk_decoder;

int decoder_create(struct ypk_decoder **out, const struct ypk_dataset *dataset, struct error *error);
void decoder_destroy(struct ypk_decoder **decoder);
struct codec *decoder_codec(struct ypk_decoder *decoder);

/* The stored form of one image (modality YPK_RGB or YPK_IR), its hash checked. The payload is borrowed until the next
 * call on this decoder. Messages name the sample. */
int decoder_image(struct ypk_decoder *decoder, uint64_t index, int modality, struct record_image *image,
                  struct span *payload, struct error *error);

/* How many bytes can be read behind a payload that decoder_image() gave, in a mapping that stays until the dataset is
 * closed; 0 where the payload was read into scratch, or is given up when the next record is wanted. */
size_t decoder_bytes_after(const struct ypk_decoder *decoder, uint64_t index, struct span payload);

/* Puts shard and sample in front of a message about its pixels. */
void decoder_name_sample(struct ypk_decoder *decoder, uint64_t index, struct error *error);

#endif
