/**
 * What a name may point to: a conversation or other stored things by their ids, an object that may have such an id, a
 * thread, an answer to compare with, a skill, a voice, an address, tools, what a `type` says, speech, or media of the type that is
 * given with it.
 */
export type Mention =
  | ("conversation" | "id" | "holder" | "thread" | "diagnostics" | "comparison" | "skill" | "voice")
  | ("address" | "tools" | "type" | "speech" | "media");

type Mentioned = readonly (readonly [name: string, what: Mention])[];

/**
 * The names in a dialect's requests that the gateway reads, prices, changes or rejects. They count in the bodies of all
 * dialects, because some providers read several.
 */
export interface BodyNames {
  /** Members of the body itself. */
  readonly top: readonly string[];
  /** Members of nested objects whose names the dialect defines. */
  readonly nested: readonly string[];
  /** Members of the body whose values are made of what the dialect defines: the conversation, tools and formats. */
  readonly defined: readonly string[];
  /** Objects whose names the caller defines, at all levels below too, such as a tool's JSON schema. */
  readonly callers: readonly string[];
  /** Ids of objects that the vendor stores per account, wherever they are. */
  readonly stored: readonly string[];
  /** What other members of the body, and of nested objects, may point to. */
  readonly mentions: { readonly top: Mentioned; readonly nested: Mentioned };
}

/**
 * What an id is of. `conversation`: all that was said up to there, which the provider adds to the request. `item`: an item
 * that is in the request, but for its content; a translation leaves it out, so only a provider that speaks the client's
 * dialect looks it up. `thing`: a file, a container, a store of files. `comparison`: an answer that this one is compared
 * with, wherever it is made; left out like an item.
 */
export type ReferenceKind = "conversation" | "item" | "thing" | "comparison";

/** A stored object that a request refers to by its provider's id. */
export interface StoredReference {
  readonly path: string;
  readonly id: string;
  readonly kind: ReferenceKind;
}
