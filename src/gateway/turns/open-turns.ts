import { isConversationId } from "../../base/id.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import type { Settings } from "../../config/settings.ts";
import type { StoredTurn } from "../../store/store.ts";
import { readConversation } from "./conversation-body.ts";
import { type KeptTurn, readTurn, splitContent, type Turn } from "./turn-body.ts";

/** Bytes to open per iteration of the event loop. Splitting verbatim turns takes up to 0.1 ms per KB. */
const maxBytesAtOnce = 64 * 1024;

interface OpeningSettings {
  readonly responses: Pick<Settings["responses"], "encryptionKey">;
}

/** Skips turns that were encrypted with another key. */
export async function opened(
  stored: readonly StoredTurn[],
  { responses }: OpeningSettings,
): Promise<readonly KeptTurn[]> {
  const turns: KeptTurn[] = [];
  let bytes = 0;
  for (const each of stored) {
    bytes += each.body.length + (each.request?.length ?? 0);
    if (bytes >= maxBytesAtOnce) {
      bytes = 0;
      await bodyPacer.wait();
    }
    const turn = await openTurn(each, responses.encryptionKey);
    if (turn !== null) turns.push(turn);
  }
  return turns;
}

async function openTurn(stored: StoredTurn, key: Uint8Array | null): Promise<KeptTurn | null> {
  const { no, id, parentId, body, request } = stored;
  if (isConversationId(id)) return readConversation(stored, key);
  const content =
    request === null
      ? await readTurn(id, body, key)
      : splitContent(id, { request, response: body, group: null });
  return content && { no, id, parentId, isStored: true, ...content };
}

/**
 * A chain that started in a conversation, with the items that the conversation had then. Null if these are no longer
 * known.
 */
export function asItWas(chain: readonly Turn[]): readonly Turn[] | null {
  const [conversation, first] = chain;
  if (conversation === undefined || first === undefined || !isConversationId(conversation.id)) return chain;
  const places = new Map(conversation.input.map(({ id }, place) => [id, place]));
  const [place] = [...first.input, ...first.output].flatMap(({ id }) => places.get(id) ?? []);
  if (place === undefined) return null;
  return [{ ...conversation, input: conversation.input.slice(0, place) }, ...chain.slice(1)];
}
