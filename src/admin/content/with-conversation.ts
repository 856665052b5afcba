import type { Clock } from "../../base/clock.ts";
import type { Json } from "../../base/json.ts";
import type { Settings } from "../../config/settings.ts";
import type { CleanedText } from "../../content/thread-messages.ts";
import { storedBefore } from "../../gateway/conversations/stored-before.ts";
import { Turns } from "../../gateway/conversations/turns.ts";
import type { Store } from "../../store/store.ts";

export interface ConversationSources {
  /** The items before a turn as a JSON list; null if they are not stored. */
  storedBefore(
    keyId: string,
    content: { readonly request: Json; readonly response: Json },
  ): Promise<string | null>;
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
  return (keyId, content) => storedBefore({ turns, settings }, keyId, content);
}

/** Adds the stored conversation that the request continued, as the document's last member. */
export async function withConversation(
  document: Uint8Array,
  keyId: string | undefined,
  sources: ConversationSources,
): Promise<Uint8Array> {
  const text = Buffer.from(document).toString();
  if (keyId === undefined || !/"(?:previous_response_id|conversation)":/.test(text)) return document;
  const json = await sources.storedBefore(keyId, JSON.parse(text));
  if (json === null) return document;
  const items = await sources.clean({ json, maxBytes: sources.maxBytes });
  return Buffer.from(`${text.slice(0, text.lastIndexOf("}"))},"conversation":${items}}`);
}
