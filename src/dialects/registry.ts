import type { DialectName } from "../base/dialect.ts";
import { chat } from "./chat/index.ts";
import type { Dialect } from "./dialect.ts";
import { messages } from "./messages/index.ts";
import { responses } from "./responses/index.ts";

/** Every dialect that the gateway can translate; adding one is adding a line. */
const dialects: Readonly<Record<DialectName, Dialect>> = { chat, messages, responses };

export function dialectOf(name: DialectName): Dialect {
  return dialects[name];
}
