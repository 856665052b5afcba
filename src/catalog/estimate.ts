import type { JsonObject } from "../base/json.ts";
import { InputWalk, pageTokens } from "./input-walk.ts";

/**
 * Estimates a request's input tokens without a tokenizer, in two ways that are never charged.
 *
 * `atMost` is for holds. Tokenizers work on bytes, so a text has at most one token per byte. Nothing lower holds for every
 * text: digits with blanks between them, private-use characters, Yi, cuneiform, rare ideographs, punctuation and runs such as
 * "qzjq" all reach one token per byte, and lowercase letters without j, q, x, z, k and g still reach two tokens for three. So
 * the bound is the request's own length, which costs nothing to find. Where that is too much to hold, the input is counted.
 *
 * `tokens` is what ordinary text has at most. Measured with real tokenizers: English prose has 4 to 5 bytes per token, code 3
 * to 3.5, Chinese and Japanese about 3, and dense JSON 2.5.
 */
const bytesPerToken = 2.5;
/** The usual tokens of an image. */
export const imageTokens = 1600;
/** The maximum that vendors accept: Google's limit of a thousand pages. The model's context window is nearly always less. */
const maxDocumentTokens = 1000 * pageTokens;

/** An estimate of a request's input. */
export interface InputEstimate {
  /** At or above the real count for ordinary text. */
  readonly tokens: number;
  /** At or above the real count for any text, except attachments whose tokens are unbounded. */
  readonly atMost: number;
  /** Number of attachments whose tokens are unbounded. */
  readonly unmeasured: number;
}

/** The upper bound of the input. A provider rejects requests above the model's context window. */
export function maxInputTokens(
  { tokens, atMost, unmeasured }: InputEstimate,
  contextWindow: number | null,
): number {
  const max = atMost + unmeasured * maxDocumentTokens;
  return contextWindow === null ? max : Math.max(tokens, Math.min(max, contextWindow));
}

/** Estimates the input tokens of a body of `sentBytes` bytes, in any dialect. */
export function estimateInput(body: JsonObject, sentBytes: number): InputEstimate {
  return resultOf(InputWalk.ofBody(body), sentBytes, 0);
}

/**
 * Estimates a body whose long texts were truncated by `cutBytes` in all. Null if it has attachments: their cost depends
 * on their whole text, so the whole body is needed.
 */
export function estimateTruncatedInput(
  body: JsonObject,
  sentBytes: number,
  cutBytes: number,
): InputEstimate | null {
  const walked = InputWalk.ofBody(body);
  return walked.hasAttachments && cutBytes > 0 ? null : resultOf(walked, sentBytes, cutBytes);
}

/** The upper bound of an attachment alone, without the names and addresses around it. */
export function estimateAttachment(block: JsonObject): number {
  const { attachedTokens, attachedTextBytes, decodedBytes, unmeasured } = InputWalk.ofBlock(block);
  return Math.ceil(attachedTokens + attachedTextBytes + decodedBytes + unmeasured * maxDocumentTokens);
}

/** Estimates the tokens of an ordinary text, where no better count is available. */
export function estimateText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}

function resultOf(walked: InputWalk, sentBytes: number, cutBytes: number): InputEstimate {
  const { tokens, attachedTokens, encodedChars, decodedBytes, moreOfNumbers, unmeasured } = walked;
  const without = tokens + attachedTokens;
  const textBytes = walked.textBytes + walked.attachedTextBytes + decodedBytes + cutBytes;
  const sentText = Math.max(0, sentBytes - encodedChars) + decodedBytes;
  return {
    tokens: Math.ceil(without + textBytes / bytesPerToken),
    atMost: Math.ceil(without + moreOfNumbers + sentText),
    unmeasured,
  };
}
