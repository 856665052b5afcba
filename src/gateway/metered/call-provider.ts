import { assert } from "../../base/assert.ts";
import { lengthOf, shared } from "../../base/bytes.ts";
import { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Usage } from "../../base/usage/usage.ts";
import { malformedResponse } from "../../dialects/errors/failure.ts";
import type { MeteredFormat, MeteredReading, MeteredResponse } from "../../dialects/metered/route.ts";
import { type Deployment, maxProviderResponseBytes, type OpenedCall } from "../../upstream/upstream.ts";
import type { ChosenFormat } from "../../vendors/registry.ts";
import { isLargeBody, joinShared, largeBodyBytes } from "../body-worker/large-body.ts";
import type { Piece } from "../exchange/client-call.ts";
import { type HeldMeteredCall, MeteredCall, type MeteredPlan } from "./metered-call.ts";
import { meteredJob } from "./metered-job.ts";

/** Calls of one request at the same time. */
const maxParallelCalls = 8;

/** Maximum bytes of all responses to one request: 2,048 vectors of 3,072 numbers fit. */
const maxPartsBytes = 2 * maxProviderResponseBytes;

/** Providers' responses to the parts of a request. */
export interface AnsweredParts {
  readonly opened: OpenedCall;
  readonly chosen: ChosenFormat;
  readonly dropped: readonly string[];
  /** In the order of the parts. If a part failed, only the responses to the others. */
  readonly answers: readonly MeteredResponse[];
  /** The parts that they belong to. */
  readonly parts: readonly JsonObject[];
  /** The first failure of a part; null if all succeeded. */
  readonly failure: unknown;
}

/** A call whose response has begun, or is complete. */
export interface BegunCall {
  readonly call: MeteredCall;
  readonly opened: OpenedCall;
}

/** `part` is null for the whole request, and `pinned` for any deployment. */
export async function openCall(
  parts: HeldMeteredCall,
  part: JsonObject | null,
  pinned: Deployment | null,
): Promise<BegunCall> {
  const call = new MeteredCall(parts, part, pinned);
  return { call, opened: await parts.call.configured.upstream.open(call) };
}

/**
 * Requests all parts of a request. The first one chooses the deployment: vectors of two models cannot be compared. The
 * others follow a few at a time. After a failure no more are started, and those in progress run to their end, since
 * they are billed. Rejects if the first one fails.
 */
export async function callInParts(
  parts: HeldMeteredCall,
  bodies: readonly JsonObject[],
): Promise<AnsweredParts> {
  const inputsIn = (place: number) => parts.route.countInputs?.(bodies[place] ?? {}) ?? null;
  const first = await openCall(parts, bodies.length === 1 ? null : (bodies[0] ?? null), null);
  const answers: (MeteredResponse | undefined)[] = [
    await readAnswer(first.opened, inputsIn(0), bodies.length > 1),
  ];
  let failure: unknown = null;
  let bytes = 0;
  let next = 1;
  const work = async () => {
    while (next < bodies.length && failure === null) {
      const place = next++;
      try {
        const { opened } = await openCall(parts, bodies[place] ?? null, first.opened.deployment);
        const answer = await readAnswer(opened, inputsIn(place), true);
        answers[place] = answer;
        bytes += answer.bytes.length;
        if (bytes > maxPartsBytes) throw tooLarge();
      } catch (error) {
        failure ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(maxParallelCalls, bodies.length - 1) }, work));
  const answered = answers.flatMap((answer, place) =>
    answer === undefined ? [] : [{ answer, part: bodies[place] ?? {} }],
  );
  return {
    ...factsOf(first),
    answers: answered.map(({ answer }) => answer),
    parts: answered.map(({ part }) => part),
    failure,
  };
}

/** A complete response to one call. */
export async function wholeOf(begun: BegunCall, body: JsonObject): Promise<AnsweredParts> {
  const { call, opened } = begun;
  const answer = await (call.streamsAnyType && opened.streaming
    ? readBytes(opened)
    : readAnswer(opened, null, false));
  return { ...factsOf(begun), answers: [answer], parts: [body], failure: null };
}

function factsOf({ call, opened }: BegunCall): Pick<AnsweredParts, "opened" | "chosen" | "dropped"> {
  const { chosen, dropped } = call;
  assert(chosen !== null, "a provider has answered without an attempt");
  return { opened, chosen, dropped: [...dropped] };
}

/** Reads a byte stream to its end and discards it: the client has disconnected. */
async function readBytes(opened: OpenedCall): Promise<MeteredResponse> {
  const responseHeaders = headersOf(opened);
  opened.outlivesClient = true;
  while ((await opened.read()) !== null);
  opened.finished("completed");
  const bytes = new Uint8Array();
  return { ...responseHeaders, bytes, inputs: null };
}

/** Puts a part where another thread can read it, because all of them together may be large. */
async function readAnswer(
  opened: OpenedCall,
  inputs: number | null,
  isPart: boolean,
): Promise<MeteredResponse> {
  if (opened.streaming) {
    opened.finished("failed");
    throw malformedResponse("it is a stream");
  }
  const responseHeaders = headersOf(opened);
  const { whole } = opened;
  const isShared = isPart || whole.bytes >= largeBodyBytes;
  const bytes = isShared ? await joinShared(whole) : opened.bytes();
  opened.finished("completed");
  return { ...responseHeaders, bytes, inputs };
}

function headersOf({ head }: OpenedCall): Pick<MeteredResponse, "contentType" | "countedInput"> {
  return { contentType: head?.get("content-type") ?? null, countedInput: countedInput(head) };
}

function tooLarge(): GatewayError {
  return new GatewayError("upstream_error", "The response is too large. Send fewer inputs per request.");
}

/** Bedrock's. */
function countedInput(head: OpenedCall["head"]): number | null {
  const text = head?.get("x-amzn-bedrock-input-token-count") ?? null;
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : null;
}

/** The usage, and the response once its usage is known. */
export interface FoundResponse extends Omit<MeteredReading, "written"> {
  bodyWith(usage: Usage): Piece;
}

/** Large responses are read on another thread, and so are many small ones that have to be rewritten. */
export async function readResponses(
  { call, name, route, askedAt }: MeteredPlan,
  { answers, chosen, opened }: AnsweredParts,
): Promise<FoundResponse> {
  const [answer] = answers;
  const asked = askedAt(opened.deployment);
  const { format } = chosen;
  assert(answer !== undefined, "a provider has answered");
  const passed = answers.length === 1 && passesQuickly(answer, format) ? format.pass?.(answer, asked) : null;
  if (passed != null) return { ...passed, bodyWith: () => answer.bytes };
  const end = (usage: Usage) => route.writeEnd?.(usage) ?? "";
  if (!areLarge(answers)) {
    const read = format.read?.(answers, asked);
    assert(read !== undefined, "an answer passes, or is read");
    return { ...read, bodyWith: (usage) => (read.written ?? "") + end(usage) };
  }
  const input = {
    route: name,
    format: chosen.name,
    answers: answers.map((each) => ({ ...each, bytes: shared(each.bytes) })),
    asked,
  };
  const { written, ...read } = await call.gateway.largeBodies.runResponse(meteredJob, input);
  if (written === null) return { ...read, bodyWith: () => answer.bytes };
  return { ...read, bodyWith: (usage) => endedBy(written, Buffer.from(end(usage))) };
}

function passesQuickly(answer: MeteredResponse, { parsesWhole }: MeteredFormat): boolean {
  return parsesWhole === true ? !isLargeBody(answer.bytes) : answer.bytes.length < largeBodyBytes;
}

/** Many small responses take as long as a large one. */
function areLarge(answers: readonly MeteredResponse[]): boolean {
  const total = lengthOf(answers.map(({ bytes }) => bytes));
  return total >= largeBodyBytes || answers.some((answer) => isLargeBody(answer.bytes));
}

/** There is room after it (metered-job.ts). */
function endedBy(written: Uint8Array, end: Uint8Array): Uint8Array {
  const whole = new Uint8Array(written.buffer, written.byteOffset, written.length + end.length);
  whole.set(end, written.length);
  return whole;
}
