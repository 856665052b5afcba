import { choice, section, time, whole } from "./parts.ts";
import { byteSize } from "./size.ts";

function batchLimit<const Default extends number>(byDefault: Default, description: string) {
  return whole(description, { minimum: 1, maximum: 100_000, default: byDefault });
}

/** Files and batches. */
export const batchesSchema = section({
  concurrency: batchLimit(
    32,
    "Lines of batches that this gateway runs at once; half of them at one deployment.",
  ),
  concurrency_per_key: batchLimit(8, "Lines of one key that this gateway runs at once."),
  window: time('How long a batch can take: what `completion_window: "24h"` means here.', "24h", {
    minimum: 1,
    maximum: 86_400,
  }),
  wait_for_funds: time(
    "How long a batch waits for credit, a cap or space. Then its remaining lines end without a result.",
    "1h",
    { minimum: 0, maximum: 86_400 },
  ),
  provider_poll: time(
    "How soon Sluice asks a provider whether its batch has ended; later, up to six times as long.",
    "10s",
    { minimum: 0.05, maximum: 60 },
  ),
  request_timeout: time("How long one line can take. Timeouts of the model still apply.", "15m", {
    minimum: 1,
    maximum: 3600,
  }),
  max_input: byteSize("The largest input of a batch.", 100 * 1024 * 1024, 1024, 256 * 1024 * 1024),
  max_lines: batchLimit(50_000, "Maximum requests in a batch."),
  max_open_per_key: batchLimit(32, "Unfinished batches that a key can have; more get 429."),
  bytes_per_key: byteSize(
    "Maximum size of files, unfinished uploads, batches and results per key. Each counts 1 KB at least. Paid results are never evicted.",
    1024 * 1024 * 1024,
    0,
  ),
  files_per_key: batchLimit(10_000, "Files that a key can have, and as many batches."),
  share: choice(
    ["key", "account"],
    "Who sees files and batches: the key that created them, or all keys of its account.",
    "key",
  ),
  result_days: whole("Days that results are kept after the end of their batch.", {
    minimum: 1,
    maximum: 365,
    default: 30,
  }),
});
