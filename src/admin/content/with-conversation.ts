import type { Clock } from "../../base/clock.ts";
import type { Settings } from "../../config/settings.ts";
import type { RecordedDocument } from "../../content/archive.ts";
import type { RecordedTurn } from "../../content/recorded-turn.ts";
import type { CleanedText } from "../../content/thread-messages.ts";
import { storedBefore } from "../../gateway/turns/stored-before.ts";
import { Turns } from "../../gateway/turns/turns.ts";
import type { Store } from "../../store/store.ts";

export interface ConversationSources {
  /** The items before a turn as a JSON list; null if they are not stored. */
  storedBefore(keyId: string, turn: RecordedTurn): Promise<string | null>;
  /** Removes binary data and secrets. */
  clean(text: CleanedText): string | Promise<string>;
  readonly maxBytes: number;
}

/** Reads stored conversations for commands, without a running gateway. */
export function storedConversations(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  settings: Settings,
): ConversationSources["storedBefore"] {
  const turns = new Turns({ store, clock, retryBytes: () => 0 });
  return (keyId, turn) => storedBefore({ turns, settings }, keyId, turn);
}

/** Adds the stored conversation that the request continued, as the document's last member. */
export async function withConversation(
  { json: document, keyId, turn }: RecordedDocument,
  sources: ConversationSources,
): Promise<Uint8Array> {
  const json = turn === null ? null : await sources.storedBefore(keyId, turn);
  if (json === null) return document;
  const items = await sources.clean({ json, maxBytes: sources.maxBytes });
  const open = document.subarray(0, document.lastIndexOf(closingBrace));
  return Buffer.concat([open, Buffer.from(`,"conversation":${items}}`)]);
}

const closingBrace = "}".charCodeAt(0);
