import { shared } from "../../base/bytes.ts";
import { GatewayError } from "../../base/errors.ts";
import { isConversationId } from "../../base/id.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import { isCompaction } from "../../dialects/openai-responses/client/compaction.ts";
import type { StreamedItems } from "../../dialects/openai-responses/client/streamed-items.ts";
import {
  type EndedResponse,
  endedResponse,
  itemsAt,
} from "../../dialects/openai-responses/client/turn-items.ts";
import type { EndedIds } from "../../dialects/provider-response/stream-reader.ts";
import { largeEventBytes } from "../../dialects/sse/event.ts";
import type { TurnRecord } from "../../store/store.ts";
import type { LargeBodies } from "../body-worker/body-worker.ts";
import { hasManyValues, largeBodyBytes, shareText } from "../body-worker/large-body.ts";
import { bytesOf, type Piece } from "../exchange/client-call.ts";
import type { RoutedCall } from "../request/route.ts";
import { storedDialect } from "../turns/storage-settings.ts";
import { copyTurn, type Turn, type TurnInMaking } from "../turns/turn-body.ts";
import { endedJob } from "./item-jobs.ts";

/** A call whose response may be stored. */
type KeptCall = Pick<RoutedCall, "gateway" | "exchange" | "keyId" | "model">;

/**
 * Returns the part of a response that the settle stores, from its whole body or the piece that ends its stream.
 * Undefined if it cannot be continued, or only its connection remembers it.
 */
export async function recordTurn(
  call: KeptCall,
  keeping: TurnInMaking,
  answer: Piece,
  { streamed, endedIds = null }: ResponseParts = {},
): Promise<RecordedTurns> {
  const { gateway, exchange, keyId, model } = call;
  const { deployment } = exchange.attempts;
  if (keeping.isProviders && deployment?.dialects.includes(storedDialect)) return undefined;
  const { request } = keeping;
  if (request !== undefined && endedIds !== null && keeping.isStored && typeof answer !== "string") {
    const provider = deployment?.provider.settings.name ?? "";
    const facts = { keyId, model: model.id, provider, request, answer, endedIds };
    const turn = gateway.turns.recordVerbatim(facts, exchange.configured.settings);
    if (turn !== null) return gateway.turns.withRoom([turn]);
  }
  return recordSplit(call, keeping, answer, streamed);
}

type RecordedTurns = readonly TurnRecord[] | undefined;

/** Facts about a response in addition to its bytes. */
interface ResponseParts {
  readonly streamed?: StreamedItems | undefined;
  readonly endedIds?: EndedIds | null | undefined;
}

/** Records the items of the request and of the response. */
async function recordSplit(
  { gateway, exchange, keyId, model }: KeptCall,
  keeping: TurnInMaking,
  answer: Piece,
  streamed: StreamedItems | undefined,
): Promise<RecordedTurns> {
  const { turns, largeBodies } = gateway;
  const { call, configured } = exchange;
  const { deployment } = exchange.attempts;
  const { parentId, before, conversation = null } = keeping;
  try {
    const response = await readEnded(largeBodies, answer, streamed);
    if (response === null) return undefined;
    if (keeping.isCompacted && !response.output.some(isCompaction)) return undefined;
    const input = keeping.input();
    // A server may repeat an id. What continues a response must not take its place, and so become its own parent.
    const isRepeated = before.some(({ id }) => id === response.id);
    let recorded: readonly TurnRecord[] | undefined;
    if (keeping.isStored && !isRepeated) {
      const provider = deployment?.provider.settings.name ?? "";
      const continuing = withUnstored({ parentId, input }, before);
      const facts = { keyId, model: model.id, provider, ...continuing, response, conversation };
      recorded = await turns.withRoom(await turns.record(facts, configured.settings));
    }
    // One may also be more than a key may keep.
    const isStored = recorded?.some(({ id }) => id === response.id) ?? false;
    call.origin.remembered?.remember([...before, copyTurn({ parentId, input, isStored, ...response })]);
    return recorded;
  } catch (error) {
    // A provider's JSON is scanned as strictly as a client's. The client gets what it was answered nevertheless.
    if (error instanceof GatewayError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A large one is read on another thread. */
async function readEnded(
  largeBodies: LargeBodies,
  answer: Piece,
  streamed: StreamedItems | undefined,
): Promise<EndedResponse | null> {
  if (answer.length < largeBodyBytes && (streamed?.length ?? 0) < largeEventBytes) {
    const bytes = bytesOf(answer);
    if (!hasManyValues(bytes, null)) return endedResponse(bytes, streamed);
  }
  await bodyPacer.wait();
  const read = await largeBodies.runResponse(endedJob, {
    bytes: typeof answer === "string" ? await shareText(answer) : shared(answer),
    streamed: streamed === undefined ? null : { events: streamed.events },
  });
  return read && { id: read.id, head: read.head, output: itemsAt(read.bytes, read.output) };
}

/** Earlier turns that are not stored become a part of the input. Otherwise nothing could continue this turn later. */
function withUnstored(turn: Pick<Turn, "parentId" | "input">, before: readonly Turn[]) {
  if (before.at(-1)?.isStored !== false) return turn;
  const unstored = before.slice(before.findLastIndex(isStoredResponse) + 1);
  const items = unstored.flatMap(({ input, output }) => [...input, ...output]);
  return { parentId: unstored[0]?.parentId ?? null, input: [...items, ...turn.input] };
}

/** A conversation that the client named continues without responses that are not stored. */
function isStoredResponse({ id, isStored }: Turn): boolean {
  return isStored && !isConversationId(id);
}
