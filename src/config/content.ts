import { assert } from "../base/assert.ts";
import { msPerDay } from "../base/clock.ts";
import { isObject } from "../base/json.ts";
import { type ByteSize, bytesOfSize } from "./byte-size.ts";
import { defaults } from "./defaults.ts";
import { encryptionKeyAt } from "./encryption-key.ts";
import { Places } from "./places.ts";
import { ConfigError, type LoadContext, ProblemList, validFields } from "./problems.ts";
import type { ConfigFile } from "./schema.ts";
import type { BodyLimits, ContentSettings } from "./settings.ts";
import { findConfig, type SourceOptions } from "./source.ts";
import { parseToml } from "./toml.ts";

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
    ...bodyLimits(config, context),
    key: given.key === undefined ? null : encryptionKeyAt("content.key", given.key, context),
    recordsUpstream: given.record_upstream ?? content.recordUpstream,
    membersSeeOwn: given.members_see_own ?? content.membersSeeOwn,
  };
}

/** Also without the section, for traces that have content. */
export function bodyLimits({ content }: ConfigFile, { problems }: LoadContext): BodyLimits {
  const given = content === undefined ? {} : validFields(content, "content", problems);
  return {
    maxRequestBytes: bytes(given.max_request ?? defaults.content.maxBody),
    maxResponseBytes: bytes(given.max_response ?? defaults.content.maxBody),
  };
}

/**
 * The key of recorded content, for commands that need nothing else of the configuration; null if there is none. Another reference may
 * be named in its place.
 */
export function locateContentKey(options: SourceOptions, reference?: string): Uint8Array | null {
  const source = findConfig(options);
  const document = parseToml(source.text, source.origin);
  const { content } = document;
  const configured = isObject(content) && typeof content["key"] === "string" ? content["key"] : undefined;
  const named = reference ?? configured;
  if (named === undefined) return null;
  const places = new Places(source.text, document);
  const problems = new ProblemList(places);
  const context = { env: options.env, folder: source.folder, problems, places, warnings: [] };
  const key = encryptionKeyAt(reference === undefined ? "content.key" : "--new-key", named, context);
  if (problems.all.length > 0) throw new ConfigError(source.origin, problems.all);
  return key;
}

/** Of a size that the schema has accepted. */
function bytes(size: ByteSize): number {
  const count = bytesOfSize(size);
  assert(count !== null, "a size that passed the check has a unit");
  return count;
}
