// Sessions of onnxruntime-web, in one thread: others would need headers that not every static host sends. Its file has
// all operators of the CPU and needs WebAssembly's SIMD, which browsers have had since 2023.

import * as ort from "./onnxruntime/ort.wasm.bundle.min.mjs";

ort.env.wasm.numThreads = 1;
ort.env.logLevel = "error";

/** Return the answer of the page's own server for a file, as a Response; an Error that names the file otherwise. */
export async function fetchFile(path) {
  const answer = await fetch(new URL(path, import.meta.url));
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${answer.statusText}`);
  return answer;
}

let last = Promise.resolve(); // what the runtime does, one thing at a time, whoever asks for it
const inTurn = (act) => (last = last.catch(() => {}).then(act));

const QUIET = { logSeverityLevel: 3 }; // errors only: TensorScatter warns of each copy of a cache

/** Return a function that runs an ONNX file of the page: a map of tensors to a map of tensors. */
export async function openSession(path) {
  const bytes = new Uint8Array(await (await fetchFile(path)).arrayBuffer());
  const session = await inTurn(async () => {
    // The runtime would never try again to fetch its own file.
    ort.env.wasm.wasmBinary ??= await (await fetchFile("onnxruntime/ort-wasm-simd-threaded.wasm")).arrayBuffer();
    return ort.InferenceSession.create(bytes, QUIET);
  });
  return (feeds) => inTurn(() => session.run(feeds, QUIET));
}

/** Return integers as an int64 tensor. */
export const integers = (values, ...shape) => new ort.Tensor("int64", BigInt64Array.from(values, BigInt), shape);

/** Return a float32 tensor. */
export const floats = (values, ...shape) => new ort.Tensor("float32", values, shape);

// As in Python: the numbers of an int8 model depend, in their last digits, on what is in the batch.
export const BATCH_TOKENS = 1024;

/** Return a function that runs the ONNX file of a tagger: rows of ids with their hints, `{codes, hints}`, to logits. */
export async function openTagger(path) {
  const tag = await openSession(path);
  return async (rows, { bos, eos, pad }) => {
    const length = 2 + Math.max(...rows.map(({ codes }) => codes.length));
    const padded = (first, between, last, padding) => integers(rows.flatMap((row) =>
      [first, ...between(row), last, ...new Array(length - 2 - row.codes.length).fill(padding)]), rows.length, length);
    const { logits } = await tag({
      input_ids: padded(bos, ({ codes }) => codes, eos, pad),
      token_type_ids: padded(0, ({ hints }) => hints, 0, 0),
      attention_mask: padded(1, ({ codes }) => codes.map(() => 1), 1, 0),
    });
    return logits.data;
  };
}
