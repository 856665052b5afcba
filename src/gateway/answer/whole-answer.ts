import { releaseBytes } from "../../base/release.ts";
import { sharedCopy } from "../../base/shared-bytes.ts";
import type { Usage } from "../../base/usage.ts";
import { malformedAnswer } from "../../dialects/errors/failure.ts";
import { providerDialect } from "../../dialects/registry.ts";
import { FrameJoiner } from "../../dialects/sse/frame-joiner.ts";
import { SseDecoder } from "../../dialects/sse/sse.ts";
import { maxWholeBytes, type Opened } from "../../upstream/upstream.ts";
import type { Attempt } from "../attempt/prepare.ts";
import { isLargeBody } from "../large/is-large.ts";
import type { LargeBodies } from "../large/large-bodies.ts";
import type { Answering } from "./answering.ts";
import { type AnswerForm, readAnswerBytes, translated, type WholeAnswer } from "./read-answer.ts";

/** Has to be awaited only where the answer is large, or the provider streams although it was not asked to. */
export function readWhole({
  gateway,
  opened,
  attempt,
  generation,
}: Pick<Answering, "gateway" | "opened" | "attempt" | "generation">): WholeAnswer | Promise<WholeAnswer> {
  if (opened.streaming) return collect(opened, attempt);
  const bytes = opened.bytes();
  const form: AnswerForm = {
    dialect: attempt.dialect,
    isTranslated: attempt.translation !== null,
    asStream: generation.stream,
    isThreaded: generation.request.isThreaded,
  };
  if (isLargeBody(bytes)) return readLarge(gateway.largeBodies, shareBytes(bytes), form, attempt, null);
  return readAnswerBytes(bytes, form, attempt);
}

/** On another thread: what a provider sends must not hold up other clients either. */
async function readLarge(
  largeBodies: LargeBodies,
  bytes: Uint8Array,
  form: AnswerForm,
  attempt: Attempt,
  shown: Usage | null,
): Promise<WholeAnswer> {
  const context = attempt.answerContext();
  const job = { type: "answer", bytes, form, context, shown } as const;
  const { body, produced, items, ...rest } = await largeBodies.run(job);
  const whole = { ...rest, produced: () => produced, items: () => items };
  if (body === null) return { ...whole, body: bytes };
  return { ...whole, body, showing: (usage) => readLarge(largeBodies, bytes, form, attempt, usage) };
}

/** Moves the bytes to memory that both threads see. */
function shareBytes(bytes: Uint8Array): Uint8Array {
  const shared = sharedCopy(bytes);
  releaseBytes(bytes);
  return shared;
}

/**
 * For a provider that streams although it was not asked to. Stops at the stream's proper end: the provider may keep the
 * connection open after it.
 */
async function collect(opened: Opened, attempt: Attempt): Promise<WholeAnswer> {
  const frames = new SseDecoder();
  const collector = attempt.reread().collect();
  const joiner = new FrameJoiner();
  const { passthrough } = providerDialect(attempt.dialect);
  const scanner = passthrough?.createScanner({ hideUsage: false, readsExtras: true }) ?? null;
  let bytes = 0;
  while (!collector.ended) {
    const chunk = await opened.read();
    if (chunk === null) break;
    bytes += chunk.length;
    if (bytes > maxWholeBytes) throw malformedAnswer("it is too large");
    const events = joiner.push(chunk);
    if (events !== null) scanner?.pass(events);
    for (const frame of frames.push(chunk)) collector.push(frame);
  }
  for (const frame of frames.end()) collector.push(frame);
  return translated(collector.end(), scanner?.extras ?? null);
}
