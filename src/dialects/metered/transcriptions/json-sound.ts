import { asBuffer } from "../../../base/bytes.ts";
import { openBrace, quote, skipSpace } from "../../json/json-bytes.ts";
import { scanObject } from "../../json/json-spans.ts";
import type { FormFile, RouteBody } from "../route.ts";

export const soundMember = "input_audio";

/** In base64 characters, four for each three bytes. */
const maxStartChars = 16_384 * 4;
const maxEndChars = 262_144 * 4;
const plainStart = /^[A-Za-z0-9+/]+={0,2}$/;

/** JSON has the sound as base64. Where that is not found as plain text, it may be of any kind, and as long as the body. */
export function soundInJson({ truncated, bytes }: RouteBody): readonly FormFile[] {
  if (truncated[soundMember] == null) return [];
  const text = base64In(bytes);
  const start = text?.toString("latin1", 0, maxStartChars) ?? "";
  if (text === null || !plainStart.test(start)) {
    return [{ field: soundMember, bytes: Math.ceil(bytes.length * 0.75), start: nothing, end: nothing }];
  }
  const end = text.toString("latin1", Math.max(0, Math.floor(text.length / 4) * 4 - maxEndChars));
  const [first, last] = [start, end].map((part) => Buffer.from(part, "base64"));
  const length = Math.floor(text.length * 0.75);
  return [{ field: soundMember, bytes: length, start: first ?? nothing, end: last ?? nothing }];
}

const nothing = new Uint8Array();

function base64In(bytes: Uint8Array): Buffer | null {
  const [sound] = scanObject(bytes, skipSpace(bytes, 0), [soundMember]).members;
  if (sound === undefined || bytes[sound.valueStart] !== openBrace) return null;
  const [data] = scanObject(bytes, sound.valueStart, ["data"]).members;
  if (data === undefined || bytes[data.valueStart] !== quote) return null;
  const text = asBuffer(bytes).subarray(data.valueStart + 1, data.end - 1);
  return text.includes("\\") ? null : text;
}
