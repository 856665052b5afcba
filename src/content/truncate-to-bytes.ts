import type { Json, JsonObject } from "../base/json.ts";

export interface TruncatedText {
  readonly json: string;
  /** How many bytes were cut; 0 if it was short enough. */
  readonly cut: number;
}

const mark = "…";
/** Each cut serializes the whole value again. */
const maxListCuts = 16;
/** The shortest length that a string is cut to. */
const minRemainingChars = 16;

/** The JSON text of a value, cut inside its long strings, and then in its lists, until it has no more than `max` bytes. */
export function truncateToBytes(value: Json, max: number): TruncatedText {
  const whole = JSON.stringify(value);
  const bytes = Buffer.byteLength(whole);
  if (bytes <= max) return { json: whole, cut: 0 };
  let kept = value;
  let json = whole;
  for (let tries = 0; tries < 4 && Buffer.byteLength(json) > max; tries += 1) {
    const limit = longestPrefix(kept, Buffer.byteLength(json) - max);
    kept = withShortStrings(kept, limit);
    json = JSON.stringify(kept);
  }
  for (let tries = 0; tries < maxListCuts && Buffer.byteLength(json) > max; tries += 1) {
    const shorter = withShorterList(kept, Buffer.byteLength(json) - max);
    if (shorter === null) break;
    kept = shorter;
    json = JSON.stringify(kept);
  }
  if (Buffer.byteLength(json) > max) json = "null";
  return { json, cut: bytes - Buffer.byteLength(json) };
}

/** The length to cut the longest strings to, so that at least `excess` bytes are removed. */
function longestPrefix(value: Json, excess: number): number {
  const lengths: number[] = [];
  visitStrings(value, (text) => void (text.length > minRemainingChars && lengths.push(text.length)));
  lengths.sort((one, other) => other - one);
  let freed = 0;
  for (const [place, length] of lengths.entries()) {
    const next = lengths[place + 1] ?? minRemainingChars;
    const count = place + 1;
    const more = (length - next) * count;
    // Each cut string gets a mark of three bytes.
    if (freed + more >= excess + count * 3)
      return Math.max(minRemainingChars, Math.floor(length - (excess + count * 3 - freed) / count));
    freed += more;
  }
  return minRemainingChars;
}

function visitStrings(value: Json | undefined, visit: (text: string) => void): void {
  if (typeof value === "string") visit(value);
  else if (typeof value === "object" && value !== null)
    for (const item of Object.values(value)) visitStrings(item, visit);
}

function withShortStrings(value: Json, limit: number): Json {
  if (typeof value === "string")
    return value.length <= limit ? value : `${value.slice(0, limit).toWellFormed()}${mark}`;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withShortStrings(item, limit));
  const copy: JsonObject = Object.create(null);
  for (const [name, item] of Object.entries(value))
    copy[name] = item === undefined ? null : withShortStrings(item, limit);
  return copy;
}

/** The value with its largest list cut at the end; null if no list is left to cut. */
function withShorterList(value: Json, excess: number): Json | null {
  const largest = largestList(value);
  if (largest === null) return null;
  let freed = 0;
  let kept = largest.length;
  while (kept > 0 && freed < excess) {
    kept -= 1;
    freed += JSON.stringify(largest[kept] ?? null).length + 1;
  }
  return replacedList(value, largest, largest.slice(0, kept));
}

function largestList(value: Json): Json[] | null {
  let largest: Json[] | null = null;
  let size = 0;
  const visit = (each: Json | undefined): void => {
    if (typeof each !== "object" || each === null) return;
    if (Array.isArray(each) && each.length > 0) {
      const bytes = JSON.stringify(each).length;
      // A list within another is cut only if nothing but it is long.
      if (bytes <= size) return;
      largest = each;
      size = bytes;
      return;
    }
    for (const item of Object.values(each)) visit(item);
  };
  visit(value);
  return largest;
}

function replacedList(value: Json, list: Json[], by: Json[]): Json {
  if (value === list) return by;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => replacedList(item, list, by));
  const copy: JsonObject = Object.create(null);
  for (const [name, item] of Object.entries(value))
    copy[name] = item === undefined ? null : replacedList(item, list, by);
  return copy;
}
