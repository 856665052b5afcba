import { GatewayError } from "../../base/errors.ts";
import type { ReportedExtras } from "../../base/extra-usage.ts";
import { isObject, type JsonObject, nestsTooDeeply } from "../../base/json.ts";
import type { ReportedUsage } from "../../base/usage.ts";
import { malformedAnswer, reportedFailure } from "../../dialects/errors/failure.ts";
import { producedText } from "../../dialects/produced.ts";
import type { Passthrough } from "../../dialects/provider-dialect.ts";
import { providerDialect } from "../../dialects/registry.ts";
import { FrameJoiner } from "../../dialects/sse/frame-joiner.ts";
import { SseDecoder } from "../../dialects/sse/sse.ts";
import type { TranslatedResponse } from "../../dialects/translation/translation.ts";
import { maxWholeBytes, type Opened } from "../../upstream/upstream.ts";
import type { Attempt } from "../attempt/prepare.ts";
import type { Answering } from "./answering.ts";

/** A provider's whole answer, as the client will read it. */
export interface WholeAnswer {
  readonly body: Uint8Array | string;
  readonly usage: ReportedUsage | null;
  /** The text produced, for a local count; only used if the provider reported no usage. */
  produced(): string;
  /** Ids of the provider's resources that the client learns. A translated answer has ids of its own. */
  readonly given: readonly string[];
  /** What the provider reports beside tokens. */
  readonly extras: ReportedExtras | null;
  /** See `Shown`. */
  items(): readonly string[];
}

const nothingGiven: readonly string[] = [];
const noItems = () => nothingGiven;

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Has to be awaited only where the provider streams although it was not asked to. */
export function readWhole({
  opened,
  attempt,
  generation,
}: Pick<Answering, "opened" | "attempt" | "generation">): WholeAnswer | Promise<WholeAnswer> {
  if (generation.stream) return readAsStream(opened, attempt);
  const { isThreaded } = generation.request;
  return opened.streaming ? collect(opened, attempt) : readJson(opened, attempt, isThreaded);
}

function readJson(opened: Opened, attempt: Attempt, isThreaded: boolean): WholeAnswer {
  const bytes = opened.bytes();
  const body = parseAnswer(bytes);
  const dialect = providerDialect(attempt.dialect);
  const extras = dialect.readExtras(body);
  const { passthrough } = dialect;
  if (attempt.translation !== null || passthrough === null) {
    return translated(attempt.reread().response(body), extras);
  }
  refuseOtherBodies(body, passthrough);
  return {
    body: bytes,
    usage: isObject(body["usage"]) ? dialect.readUsage(body["usage"]) : null,
    produced: () => producedText(passthrough, body),
    given: passthrough.givenIds(body, isThreaded),
    extras,
    items: noItems,
  };
}

/** For a provider that was asked to stream and did not: its whole answer as a stream of the client's dialect. */
function readAsStream(opened: Opened, attempt: Attempt): WholeAnswer {
  const translator = attempt.reread().stream();
  const answer = parseAnswer(opened.bytes());
  const body = translator.pushWhole(answer) + translator.terminal();
  return {
    body,
    usage: translator.usage,
    produced: () => translator.takeProduced(),
    given: nothingGiven,
    extras: providerDialect(attempt.dialect).readExtras(answer),
    items: () => translator.items(),
  };
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

function translated(
  { body, usage, produced, items }: TranslatedResponse,
  extras: ReportedExtras | null,
): WholeAnswer {
  return { body: JSON.stringify(body), usage, produced: () => produced, given: nothingGiven, extras, items };
}

/** Rejects broken JSON. */
function parseAnswer(bytes: Uint8Array): JsonObject {
  let text: string;
  let body: unknown;
  try {
    text = decoder.decode(bytes);
    body = JSON.parse(text);
  } catch (cause) {
    throw new GatewayError("upstream_error", "The provider sent a body that is not JSON.", { cause });
  }
  if (!isObject(body)) throw malformedAnswer("it is not an object");
  if (nestsTooDeeply(body, text)) throw malformedAnswer("it is nested too deeply");
  return body;
}

/** Rejects an error in a 200 and anything else that is not an answer; a translation does so by itself. */
function refuseOtherBodies(body: JsonObject, { answerField }: Passthrough): void {
  if (Array.isArray(body[answerField])) return;
  throw isObject(body["error"]) ? reportedFailure(body) : malformedAnswer("it has no content");
}
