// What a tagger of characters reads of a batch: rows of ids with their hints, between <bos> and <eos>, in one length.

// As in Python: the numbers of an int8 model depend, in their last digits, on what is in the batch.
export const BATCH_TOKENS = 1024;

/** Return {input_ids, token_type_ids, attention_mask}, plain arrays, of rows `{codes, hints}` of ids. */
export function batchInputs(rows, ids) {
  const length = 2 + rows.reduce((most, { codes }) => Math.max(most, codes.length), 0), size = rows.length * length;
  const inputs = {
    input_ids: new Array(size).fill(ids.pad),
    token_type_ids: new Array(size).fill(0),
    attention_mask: new Array(size).fill(0),
  };
  rows.forEach(({ codes, hints }, row) => {
    const from = row * length;
    inputs.input_ids[from] = ids.bos;
    codes.forEach((code, place) => {
      inputs.input_ids[from + 1 + place] = code;
      inputs.token_type_ids[from + 1 + place] = hints[place];
    });
    inputs.input_ids[from + 1 + codes.length] = ids.eos;
    inputs.attention_mask.fill(1, from, from + codes.length + 2);
  });
  return inputs;
}
