import { assert } from "../../base/assert.ts";
import { asBuffer, shared, sharedBytes } from "../../base/bytes.ts";
import type { JsonObject } from "../../base/json.ts";
import { estimateInput, estimateTruncatedInput } from "../../catalog/estimate.ts";
import { removeValues } from "../../dialects/json/remove-values.ts";
import { meteredRoute } from "../../dialects/metered/registry.ts";
import { summaryRequest } from "../../dialects/openai-responses/client/compaction.ts";
import { shownItems } from "../../dialects/openai-responses/client/shown-item.ts";
import { StreamedItems } from "../../dialects/openai-responses/client/streamed-items.ts";
import {
  type EndedResponse,
  endedResponse,
  inputSpans,
  withContinued,
} from "../../dialects/openai-responses/client/turn-items.ts";
import { openingHash } from "../../dialects/opening.ts";
import { clientDialect, providerDialect } from "../../dialects/registry.ts";
import { filesOf, itemsFieldOf, parseWhole } from "../../dialects/schema/validate.ts";
import { parseLargeEvent } from "../../dialects/sse/parse-event.ts";
import { translate, translationOfAnswer } from "../../dialects/translation/translate.ts";
import type { Translation } from "../../dialects/translation/translation.ts";
import { readAnswerBytes } from "../answer/read-answer.ts";
import { passBody } from "../attempt/pass-body.ts";
import { translateBody } from "../attempt/translate-body.ts";
import { checkRequest } from "../request/request.ts";
import { readText, type SocketFrame } from "../socket/create-frame.ts";
import type {
  AnswerContext,
  AnswerJob,
  AnswerResult,
  EndedJob,
  EndedResult,
  FrameJob,
  Job,
  MeteredJob,
  MeteredResult,
  PatchJob,
  PreparedResult,
  ReadJob,
  ReadResult,
  Result,
  TranslateJob,
} from "./jobs.ts";
import { truncateStringsAndNames } from "./truncate-strings-and-names.ts";

/** Runs a job on the calling thread. Throws a GatewayError for a refusal. */
export function runJob(job: Job): Result {
  switch (job.type) {
    case "read":
      return read(job);
    case "patch":
      return patch(job);
    case "translate":
      return translated(job);
    case "answer":
      return answer(job);
    case "continued":
      return shared(withContinued(job.bytes, job.parentId));
    case "ended":
      return ended(job);
    case "metered":
      return metered(job);
    case "frame":
      return frame(job);
    case "event":
      return parseLargeEvent(job.source);
    case "shown":
      return shared(shownItems(job.items));
    case "summary":
      return shared(Buffer.concat(summaryRequest(...job.asked)));
  }
}

function read({ bytes: sent, expected, wantsHash, without }: ReadJob): ReadResult {
  const bytes = without === undefined ? sent : shared(removeValues(sent, without));
  const { truncated, cutBytes, spans, mentions, tools } = checkRequest(bytes, expected);
  const whole = cutBytes === 0 ? truncated : parseWhole(bytes);
  const field = itemsFieldOf(expected.kind);
  return {
    bytes,
    truncatedText: truncateStringsAndNames(truncated),
    spans,
    // The lists of tools may be long, and have been read.
    mentions: { ...mentions, toolLists: [] },
    tools,
    estimatedInput:
      estimateTruncatedInput(truncated, bytes.length, cutBytes) ?? estimateInput(whole, bytes.length),
    bodyHash: wantsHash ? Bun.SHA256.hash(bytes, "hex") : null,
    openingHash: openingHash(whole),
    items: field === null ? null : inputSpans(bytes, field),
    files: filesOf(expected.kind, { bytes, truncated, body: whole }),
  };
}

function frame({ bytes }: FrameJob): SocketFrame {
  const read = readText(asBuffer(bytes));
  return read.kind === "create" ? { ...read, body: shared(read.body) } : read;
}

function patch({ bytes, spans, plan }: PatchJob): PreparedResult {
  const { body, dropped } = passBody(
    {
      bytes,
      spans,
      get body() {
        return parseWhole(bytes);
      },
    },
    plan,
  );
  return { body: shared(body), dropped, toolMapping: null };
}

/** More than any end with its figures takes. */
const roomForEnd = 1024;

/** Field names from the client are reported back to it, but not in full length. */
const maxNameLength = 200;

function translated(job: TranslateJob): PreparedResult {
  const { bytes, changes, client, toward } = job;
  const body: JsonObject = { ...parseWhole(bytes), ...changes };
  const source = { ...job.source, dialect: clientDialect(client), body };
  const target = { ...job.target, dialect: providerDialect(toward) };
  const { translation, body: written, dropped } = translateBody(source, target, job.vendor);
  return {
    body: shared(Buffer.from(written)),
    dropped: dropped.map((name) => name.slice(0, maxNameLength)),
    toolMapping: translation.serializeToolMapping(),
  };
}

function answer({ bytes, form, context, shown }: AnswerJob): AnswerResult {
  const read = readAnswerBytes(bytes, form, { reread: () => translationFor(context) });
  const whole = shown === null ? read : (read.showing?.(shown) ?? read);
  const { body, usage, issued, extras } = whole;
  return {
    body: typeof body === "string" ? shared(Buffer.from(body)) : null,
    usage,
    produced: whole.produced(),
    issued,
    extras,
  };
}

function ended({ bytes: whole, streamed }: EndedJob): EndedResult | null {
  const response = readEnded(whole, streamed === null ? undefined : new StreamedItems(streamed.events));
  if (response === null) return null;
  const { id, head, output } = response;
  const isInWhole = output.every(({ raw }) => raw.buffer === whole.buffer);
  const bytes = shared(isInWhole ? whole : Buffer.concat(output.map(({ raw }) => raw)));
  let at = 0;
  const spans = output.map(({ raw, ...item }) => {
    const start = isInWhole ? raw.byteOffset - whole.byteOffset : at;
    at = start + raw.length;
    return { ...item, start, end: at };
  });
  return { id, head: shared(head), bytes, output: spans };
}

/** Null for invalid JSON too. */
function readEnded(answer: Uint8Array, streamed: StreamedItems | undefined): EndedResponse | null {
  try {
    return endedResponse(answer, streamed);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

export function metered({ route, format, answers: sent, asked }: Omit<MeteredJob, "type">): MeteredResult {
  const { pass, read: readAll } = meteredRoute(route).formats[format] ?? {};
  const answers = sent.map((each) => ({ ...each, pieces: [each.bytes] }));
  const [answer] = answers;
  const passed = answers.length === 1 && answer !== undefined ? pass?.(answer, asked) : null;
  const read = passed ?? readAll?.(answers, asked);
  assert(read !== undefined, `${route} has the format ${format}`);
  return { ...read, written: read.written === null ? null : withRoom(read.written) };
}

/** The end of an answer, which is not known here, is written behind it: to join megabytes takes long on the event loop. */
function withRoom(text: string): Uint8Array {
  const length = Buffer.byteLength(text);
  const bytes = sharedBytes(length + roomForEnd);
  Buffer.from(bytes.buffer).write(text);
  return bytes.subarray(0, length);
}

function translationFor({ client, toward, toolMapping, ...context }: AnswerContext): Translation {
  const source = { ...context.source, dialect: clientDialect(client) };
  const target = { ...context.target, dialect: providerDialect(toward) };
  return toolMapping === null
    ? translate(source, target)
    : translationOfAnswer(source, target, toolMapping, []);
}
