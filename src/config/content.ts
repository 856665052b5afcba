import { assert } from "../base/assert.ts";
import { msPerDay } from "../base/clock.ts";
import { type ByteSize, bytesOfSize } from "./byte-size.ts";
import { defaults } from "./defaults.ts";
import { encryptionKeyAt } from "./encryption-key.ts";
import { type LoadContext, validFields } from "./problems.ts";
import type { ConfigFile } from "./schema.ts";
import type { ContentSettings } from "./settings.ts";

/** Null without the section: then nothing is recorded. */
export function contentSettings(config: ConfigFile, context: LoadContext): ContentSettings | null {
  if (config.content === undefined) return null;
  const { content } = defaults;
  const given = validFields(config.content, "content", context.problems);
  return {
    record: given.record ?? content.record,
    sample: given.sample ?? content.sample,
    keptMs: (given.days ?? content.days) * msPerDay,
    maxBytes: bytes(given.max_size ?? content.maxSize),
    maxRequestBytes: bytes(given.max_request ?? content.maxBody),
    maxResponseBytes: bytes(given.max_response ?? content.maxBody),
    key: given.key === undefined ? null : encryptionKeyAt("content.key", given.key, context),
    recordsUpstream: given.record_upstream ?? content.recordUpstream,
    membersSeeOwn: given.members_see_own ?? content.membersSeeOwn,
  };
}

/** Of a size that the schema has accepted. */
function bytes(size: ByteSize): number {
  const count = bytesOfSize(size);
  assert(count !== null, "a size that passed the check has a unit");
  return count;
}
