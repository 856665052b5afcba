import { anthropicMessages } from "./anthropic-messages/index.ts";
import { bedrockConverse } from "./bedrock-converse/index.ts";
import type { ClientDialect, OtherRequest } from "./contract/client-dialect.ts";
import type { ProviderDialect } from "./contract/provider-dialect.ts";
import { gemini } from "./gemini/index.ts";
import { openAiChat } from "./openai-chat/index.ts";
import { openAiResponses } from "./openai-responses/index.ts";

/** A wire format has one side for the gateway's clients and one for its providers. */
interface Dialect {
  readonly client?: ClientDialect;
  readonly provider?: ProviderDialect;
  /** Requests of the client's other than those for an answer, by the names of what their bodies are validated as. */
  readonly requests?: Readonly<Record<string, OtherRequest>>;
}

/** All dialects, by the names that the configuration and the routes use. */
const dialects = {
  chat: openAiChat,
  responses: openAiResponses,
  messages: anthropicMessages,
  gemini,
  converse: bedrockConverse,
} as const satisfies Readonly<Record<string, Dialect>>;

type Dialects = typeof dialects;

type NamesWith<Side extends keyof Dialect> = {
  [Name in keyof Dialects]: Dialects[Name] extends Record<Side, object> ? Name : never;
}[keyof Dialects];

export type ClientDialectName = NamesWith<"client">;
export type ProviderDialectName = NamesWith<"provider">;

export type OtherRequestName = {
  [Name in keyof Dialects]: Dialects[Name] extends { readonly requests: infer Requests }
    ? keyof Requests
    : never;
}[keyof Dialects];

/** Dialects with both sides: where a provider speaks the client's own, the bytes pass through. */
export type SharedDialectName = ClientDialectName & ProviderDialectName;

/** Whether the client's own dialect is among those that a provider speaks. */
export function isSpoken(
  client: ClientDialectName,
  supported: readonly ProviderDialectName[],
): client is SharedDialectName {
  const names: readonly string[] = supported;
  return names.includes(client);
}

function namesWith(side: keyof Dialect): string[] {
  return Object.entries<Dialect>(dialects).flatMap(([name, dialect]) => (dialect[side] ? [name] : []));
}

// The casts hold because the types are computed from the same object as the lists.
export const clientDialectNames = namesWith("client") as readonly ClientDialectName[];
export const providerDialectNames = namesWith("provider") as readonly ProviderDialectName[];

/** All other requests of all dialects. */
export const otherRequests = Object.entries<Dialect>(dialects).flatMap(([dialect, { requests = {} }]) =>
  Object.entries(requests).map(([kind, request]) => ({
    ...request,
    kind: kind as OtherRequestName,
    dialect: dialect as ClientDialectName,
  })),
);

export const clientDialects: readonly ClientDialect[] = clientDialectNames.map(clientDialect);

/** The errors of routes that belong to no dialect. */
export const plainErrors = clientDialect("chat").errorFormat;

export function clientDialect(name: ClientDialectName): ClientDialect {
  return dialects[name].client;
}

export function providerDialect(name: ProviderDialectName): ProviderDialect {
  return dialects[name].provider;
}
