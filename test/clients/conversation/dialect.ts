import type { JsonObject } from "../../../src/base/json.ts";
import type { SeenRequest } from "../../support/provider.ts";
import type { Heard, Turn } from "./scenario.ts";

/** How a dialect is recognised, and where it says what is asked of whom. */
interface Addressed {
  isAskedAt(path: string): boolean;
  isAskedToStream(request: SeenRequest): boolean;
  modelAskedFor(request: SeenRequest): string;
}

/** A dialect with a path of its own, and the rest in the body. */
export function addressedAt(path: string): Addressed {
  return {
    isAskedAt: (target) => target === path,
    isAskedToStream: ({ body }) => body["stream"] === true,
    modelAskedFor: ({ body }) => String(body["model"]),
  };
}

/** A provider's wire format, as a provider sees it. */
export interface ProviderDialect extends Addressed {
  hear(body: JsonObject): Heard;
  /** The whole answer; the request is there for what the answer must echo. */
  say(turn: Turn, body: JsonObject): JsonObject;
  /** The answer event by event, each with its frame. A turn that fails or is cut ends as it does. */
  stream(turn: Turn, body: JsonObject): (string | Uint8Array)[];
  /** The content type of its streams; absent for server-sent events. */
  readonly streamType?: string;
  /** Calls have no ids; `numberOf` their place in the conversation is heard instead. */
  readonly numbersCalls?: true;
  /** What a provider says instead of an answer when it fails. */
  failure(message: string): JsonObject;
}

/** What a provider says when a turn fails. */
export const failureWords = "The machine has caught fire.";

/** A complaint about a request; the client gets it as a 400, and the test fails with it. */
export class Complaint extends Error {}

export function complain(message: string, ...details: unknown[]): never {
  throw new Complaint([message, ...details.map((detail) => JSON.stringify(detail))].join(" "));
}

/** Each vendor has proofs of its own, and refuses another's. */
export function sealed(proof: string, vendor: Sealing): string {
  return `${vendor}+/${proof}`;
}

type Sealing = "openai" | "anthropic" | "google";

export function isSealed(proof: unknown, vendor: Sealing): boolean {
  return typeof proof === "string" && proof.startsWith(sealed("", vendor));
}

export function unsealed(proof: unknown, vendor: Sealing): string {
  const prefix = `${vendor}+/`;
  const text = stringOf(proof, "a proof");
  return text.startsWith(prefix) ? text.slice(prefix.length) : complain("a foreign proof:", text);
}

/** A text in pieces of a few letters, never inside of one: JSON could not say half of a letter. */
export function pieces(text: string, size = 4): string[] {
  const letters = [...text];
  return Array.from({ length: Math.ceil(letters.length / size) }, (_, index) =>
    letters.slice(index * size, (index + 1) * size).join(""),
  );
}

export function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value : [];
}

export function objectOf(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

export function stringOf(value: unknown, what: string): string {
  return typeof value === "string" ? value : complain(`${what} is no text:`, value);
}

export function parsed(text: unknown, what: string): JsonObject {
  try {
    return JSON.parse(stringOf(text, what));
  } catch {
    return complain(`${what} is no JSON:`, text);
  }
}

/** `data:image/png;base64,…` */
export function pictureAt(url: unknown): { mediaType: string; data: string } {
  const match = /^data:([^;,]+);base64,(.*)$/s.exec(stringOf(url, "an image's address"));
  return match === null
    ? complain("an image is no data URL:", url)
    : { mediaType: match[1] ?? "", data: match[2] ?? "" };
}
