import type { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Usage } from "../../base/usage/usage.ts";
import type { ProviderDialect } from "../../dialects/contract/provider-dialect.ts";
import { errorIn as bareError } from "../../dialects/errors/bare-error.ts";
import { parseObject } from "../../dialects/json/json-fields.ts";
import { dataOf } from "../../dialects/sse/data-field.ts";
import { errorIn, maxInspectedBytes } from "./inspect.ts";
import { joined } from "./response-queue.ts";

/** How long the opening events of a stream wait for content. Until then another deployment can be tried. */
export const openingMs = 2000;

/** OpenAI's opening events repeat the instructions and the tools of the request, twice. */
const maxOpeningBytes = 256 * 1024;

/** The beginning of an event decides whether it is an opening one. A chat chunk with a role has 300 to 500 characters. */
const maxHeadChars = 1024;

const blankLine = Buffer.from("\n\n");

/** A dialect's rules for the beginning of a stream. */
export type StartRules = Pick<ProviderDialect, "failedStart" | "isOpening">;

/**
 * "more": no frame with data is complete yet. "opening": all frames announce a response, and have no content. "fine":
 * there is content, or more than is inspected. "empty": the stream has ended without any. Else: the error, or the
 * failure of the response.
 */
export type StreamStart = "more" | "opening" | "fine" | "empty" | JsonObject | GatewayError;

/** Inspects the beginning of a stream, with chunks cut anywhere. `isEnd`: nothing more will arrive. */
export function inspectStart(
  chunks: readonly Uint8Array[],
  isEnd: boolean,
  rules: StartRules = {},
): StreamStart {
  const all = joined(chunks);
  const opened = skipOpening(all, rules);
  const bytes = opened === 0 ? all : all.subarray(opened);
  const text = bytes.toString("utf8", 0, Math.min(bytes.length, maxInspectedBytes)).replace(/\r\n?/g, "\n");
  let isOpening = opened > 0;
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n\n", from);
    if (end === -1 && !isEnd) break;
    const frame = text.slice(from, end === -1 ? text.length : end);
    const data = dataOf(frame);
    if (data !== "") {
      const failure = errorIn(data) ?? failureIn(data, rules);
      if (failure !== null) return failure;
      if (!isOpeningFrame(frame, rules)) return "fine";
      isOpening = true;
    }
    if (end === -1) break;
    from = end + 2;
  }
  if (isEnd) return (isOpening ? null : bareError(text)) ?? "empty";
  if (bytes.length >= maxInspectedBytes || all.length >= maxOpeningBytes) return "fine";
  return isOpening ? "opening" : "more";
}

/** The usage that the opening events of a failed stream have reported; null if none. */
export function openingUsage(
  chunks: readonly Uint8Array[],
  rules: Pick<ProviderDialect, "isOpening" | "openingUsage">,
): Usage | null {
  if (rules.openingUsage === undefined) return null;
  const bytes = joined(chunks);
  const text = bytes.toString("utf8", 0, skipOpening(bytes, rules));
  const reported = text.split("\n\n").map((frame) => {
    const data = parseObject(dataOf(frame));
    return data === null ? null : (rules.openingUsage?.(data) ?? null);
  });
  return reported.find((usage) => usage !== null) ?? null;
}

/** The length of the opening events. Decodes only their beginnings, because they may be large. */
function skipOpening(bytes: Buffer, rules: StartRules): number {
  if (rules.isOpening === undefined) return 0;
  for (let at = 0; ; ) {
    const end = bytes.indexOf(blankLine, at);
    if (end === -1 || !isOpeningFrame(headOf(bytes, at, end), rules)) return at;
    at = end + blankLine.length;
  }
}

function headOf(bytes: Buffer, start: number, end: number): string {
  return bytes.toString("latin1", start, Math.min(end, start + maxHeadChars));
}

function isOpeningFrame(frame: string, { isOpening }: StartRules): boolean {
  return isOpening?.(frame.slice(0, maxHeadChars)) === true;
}

function failureIn(data: string, { failedStart }: StartRules): GatewayError | null {
  if (failedStart?.marks.some((mark) => data.includes(mark)) !== true) return null;
  const frame = parseObject(data);
  return frame === null ? null : failedStart.failureIn(frame);
}
