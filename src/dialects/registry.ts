import type { DialectName } from "../base/dialect.ts";
import { messages } from "./anthropic-messages/index.ts";
import type { Dialect } from "./dialect.ts";
import { chat } from "./openai-chat/index.ts";
import { responses } from "./openai-responses/index.ts";

/** Every dialect that the gateway can translate; adding one is adding a line. */
const dialects: Readonly<Record<DialectName, Dialect>> = { chat, messages, responses };

export function dialectOf(name: DialectName): Dialect {
  return dialects[name];
}
