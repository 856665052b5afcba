import type { CallIdForm } from "../contract/client-dialect.ts";

/** Anthropic's; Bedrock and OpenAI's Responses take no more than 64 characters. */
export const wordCallIds: CallIdForm = { legal: /^[\w-]+$/, maxLength: 64 };
/** OpenAI's chat. */
export const shortCallIds: CallIdForm = { legal: /^/, maxLength: 40 };

/** The prefix of an id that wraps the provider's own id. */
const envelope = "sluid_";

/**
 * The id itself if the dialect takes it, else one that holds it, or that holds its hash if it is too long for that. The same
 * for the same id, so that a result still matches its call, and a conversation may go on anywhere.
 */
export function legalCallId(id: string, { legal, maxLength }: CallIdForm): string {
  if (id.length <= maxLength && legal.test(id) && !id.startsWith(envelope)) return id;
  const held = envelope + Buffer.from(id).toString("base64url");
  return held.length <= maxLength ? held : hashed(id, maxLength);
}

/** A readable start, and as much of a hash as no two ids share. */
function hashed(id: string, maxLength: number): string {
  const hash = new Bun.CryptoHasher("sha256").update(id).digest("base64url").slice(0, 22);
  return `${id.replace(/[^\w-]/g, "_").slice(0, maxLength - hash.length - 1)}_${hash}`;
}

/** The provider's original id, which it may require; unchanged if it was not rewritten. */
export function originalCallId(id: string): string {
  if (!id.startsWith(envelope)) return id;
  const held = Buffer.from(id.slice(envelope.length), "base64url").toString();
  const isWhole = held !== "" && envelope + Buffer.from(held).toString("base64url") === id;
  return isWhole ? held : id;
}

const legal = /^[a-zA-Z0-9]{9}$/;

/** A call id that Mistral's models accept: exactly nine letters and digits. Equal ids give equal results. */
export function mistralId(id: string): string {
  return legal.test(id) ? id : Bun.hash.xxHash64(id).toString(36).padStart(9, "0").slice(-9);
}
