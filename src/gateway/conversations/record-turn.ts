import { shared } from "../../base/bytes/shared-bytes.ts";
import { GatewayError } from "../../base/errors.ts";
import { isConversationId } from "../../base/id.ts";
import { isCompaction } from "../../dialects/openai-responses/client/compaction.ts";
import type { StreamedItems } from "../../dialects/openai-responses/client/streamed-items.ts";
import {
  type EndedIds,
  type EndedResponse,
  endedResponse,
  itemsAt,
} from "../../dialects/openai-responses/client/turn-items.ts";
import { largeEventBytes } from "../../dialects/sse/parse-event.ts";
import { bytesOf, type Piece } from "../answer/stream-relayer.ts";
import type { LargeBodies } from "../body-worker/body-worker.ts";
import { hasManyValues, largeBodyBytes } from "../body-worker/is-large.ts";
import { shareText } from "../body-worker/join-shared.ts";
import { largeBodyPacer } from "../body-worker/large-body-pacer.ts";
import type { RoutedCall } from "../stages.ts";
import { copyTurn, type Turn, type TurnInMaking } from "./turn-body.ts";

/** A call whose answer may be kept. */
type KeptCall = Pick<RoutedCall, "gateway" | "exchange" | "keyId" | "model">;

/**
 * Notes in the exchange what the settle keeps of an answer: its whole body, or the piece that ends its stream. Nothing if nothing
 * is to be kept, or if the answer is none that can be continued.
 */
export function recordTurn(
  call: KeptCall,
  answer: Piece,
  { streamed, endedIds = null }: AnswerParts = {},
): Promise<void> | undefined {
  const { gateway, exchange, keyId, model } = call;
  const { keeping, deployment, configured } = exchange;
  if (keeping === null) return undefined;
  if (keeping.isProviders && deployment?.dialects.includes("responses")) return undefined;
  const { request } = keeping;
  if (request !== undefined && endedIds !== null && keeping.isStored && typeof answer !== "string") {
    const provider = deployment?.provider.settings.name ?? "";
    const facts = { keyId, model: model.id, provider, request, answer, endedIds };
    const turn = gateway.turns.recordVerbatim(facts, configured.settings);
    if (turn !== null) {
      exchange.turns = [turn];
      return undefined;
    }
  }
  return recordSplit(call, keeping, answer, streamed);
}

/** What is known of an answer beside its bytes. */
interface AnswerParts {
  readonly streamed?: StreamedItems | undefined;
  readonly endedIds?: EndedIds | null | undefined;
}

/** The same by the items of the request and of the answer. */
async function recordSplit(
  { gateway, exchange, keyId, model }: KeptCall,
  keeping: TurnInMaking,
  answer: Piece,
  streamed: StreamedItems | undefined,
): Promise<void> {
  const { turns, largeBodies } = gateway;
  const { call, deployment, configured } = exchange;
  const { parentId, before, conversation = null } = keeping;
  try {
    const response = await readEnded(largeBodies, answer, streamed);
    if (response === null) return;
    if (keeping.isCompacted && !response.output.some(isCompaction)) return;
    const input = keeping.input();
    // A server may repeat an id. What continues a response must not take its place, and so become its own parent.
    const isRepeated = before.some(({ id }) => id === response.id);
    if (keeping.isStored && !isRepeated) {
      const provider = deployment?.provider.settings.name ?? "";
      const continuing = withUnstored({ parentId, input }, before);
      const facts = { keyId, model: model.id, provider, ...continuing, response, conversation };
      exchange.turns = await turns.record(facts, configured.settings);
    }
    // One may also be more than a key may keep.
    const isStored = exchange.turns?.some(({ id }) => id === response.id) ?? false;
    call.remembered?.remember([...before, copyTurn({ parentId, input, isStored, ...response })]);
  } catch (error) {
    // A provider's JSON is scanned as strictly as a client's. The client gets what it was answered nevertheless.
    if (error instanceof GatewayError || error instanceof SyntaxError) return;
    throw error;
  }
}

/** A large one is read on another thread. */
async function readEnded(
  largeBodies: LargeBodies,
  answer: Piece,
  streamed: StreamedItems | undefined,
): Promise<EndedResponse | null> {
  if (answer.length < largeBodyBytes && (streamed?.bytes ?? 0) < largeEventBytes) {
    const bytes = bytesOf(answer);
    if (!hasManyValues(bytes, null)) return endedResponse(bytes, streamed);
  }
  await largeBodyPacer.turn();
  const read = await largeBodies.runAnswer({
    type: "ended",
    bytes: typeof answer === "string" ? await shareText(answer) : shared(answer),
    streamed: streamed === undefined ? null : { events: streamed.events },
  });
  return read && { id: read.id, head: read.head, output: itemsAt(read.bytes, read.output) };
}

/** What comes before a turn and is stored nowhere is kept as a part of its input, or nothing could continue it later. */
function withUnstored(turn: Pick<Turn, "parentId" | "input">, before: readonly Turn[]) {
  if (before.at(-1)?.isStored !== false) return turn;
  const unstored = before.slice(before.findLastIndex(isStoredResponse) + 1);
  const items = unstored.flatMap(({ input, output }) => [...input, ...output]);
  return { parentId: unstored[0]?.parentId ?? null, input: [...items, ...turn.input] };
}

/** A conversation that a client has named goes on without those that are not stored. */
function isStoredResponse({ id, isStored }: Turn): boolean {
  return isStored && !isConversationId(id);
}
