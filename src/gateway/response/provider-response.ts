import { releaseBytes, sharedCopy } from "../../base/bytes.ts";
import { LoopPacer } from "../../base/loop/pacer.ts";
import type { Usage } from "../../base/usage/usage.ts";
import { malformedResponse } from "../../dialects/errors/failure.ts";
import { largeEventBytes } from "../../dialects/sse/event.ts";
import { SseDecoder, type SseFrame } from "../../dialects/sse/sse.ts";
import { maxProviderResponseBytes, type OpenedCall } from "../../upstream/upstream.ts";
import type { Attempt } from "../attempt/generation.ts";
import type { LargeBodies } from "../body-worker/body-worker.ts";
import { isLargeBody, joinShared, largeBodyBytes } from "../body-worker/large-body.ts";
import type { RoutedCall } from "../request/route.ts";
import type { PendingResponse } from "./pending-response.ts";
import {
  type ProviderResponse,
  type ResponseForm,
  readResponseBytes,
  responseJob,
  translated,
} from "./read-response.ts";

/** Milliseconds of each event-loop iteration. */
const budgetMs = 2;

/** All streams that have used up their share of an iteration wait here, and resume one after the other. */
export const streamPacer = new LoopPacer({ budgetMs });

export async function readProviderResponse({
  asking,
  opened,
  attempt,
}: PendingResponse): Promise<ProviderResponse> {
  const { call, generation } = asking;
  const { gateway } = call;
  if (opened.streaming) return collect(call, opened, attempt);
  const form: ResponseForm = {
    dialect: attempt.dialect,
    isTranslated: attempt.translation !== null,
    asStream: generation.stream,
    isStored: generation.isStoredUpstream,
  };
  if (opened.whole.bytes >= largeBodyBytes) return readVeryLarge(gateway.largeBodies, opened, form, attempt);
  const bytes = opened.bytes();
  if (isLargeBody(bytes)) return readLarge(gateway.largeBodies, shareBytes(bytes), form, attempt, null);
  return readResponseBytes(bytes, form, attempt);
}

async function readVeryLarge(
  largeBodies: LargeBodies,
  opened: OpenedCall,
  form: ResponseForm,
  attempt: Attempt,
): Promise<ProviderResponse> {
  const bytes = await joinShared(opened.whole);
  return readLarge(largeBodies, bytes, form, attempt, null);
}

/** Reads on another thread: a provider's large response must not delay other clients. */
async function readLarge(
  largeBodies: LargeBodies,
  bytes: Uint8Array,
  form: ResponseForm,
  attempt: Attempt,
  shown: Usage | null,
): Promise<ProviderResponse> {
  const context = attempt.responseContext();
  const input = { bytes, form, context, shown };
  const { body, produced, ...rest } = await largeBodies.runResponse(responseJob, input);
  const whole = { ...rest, produced: () => produced };
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
 * For a provider that streams although the request did not. Stops at the stream's proper end: the provider may keep the
 * connection open after it.
 */
async function collect(call: RoutedCall, opened: OpenedCall, attempt: Attempt): Promise<ProviderResponse> {
  const { largeBodies } = call.gateway;
  const decoder = new SseDecoder();
  const collector = attempt.reread().collect();
  const read = async (frames: readonly SseFrame[]) => {
    for (const frame of frames) {
      const isLarge = frame.data.length >= largeEventBytes;
      collector.push(isLarge ? { ...frame, parsed: await largeBodies.parseEvent(frame.data) } : frame);
    }
  };
  let bytes = 0;
  while (!collector.ended) {
    const chunk = await opened.read();
    if (chunk === null) break;
    await streamPacer.wait();
    call.exchange.taken.content?.upstreamResponse(chunk);
    bytes += chunk.length;
    if (bytes > maxProviderResponseBytes) throw malformedResponse("it is too large");
    if (bytes >= largeBodyBytes) await call.awaitMemory(maxProviderResponseBytes);
    await read(decoder.push(chunk));
  }
  await read(decoder.end());
  return translated(collector.end(), collector.found.extras);
}
