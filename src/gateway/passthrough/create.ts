import type { DialectName } from "../../base/dialect.ts";
import { ChatWatch } from "./chat-watch.ts";
import { MessagesWatch } from "./messages-watch.ts";
import { ResponsesWatch } from "./responses-watch.ts";
import type { Watch } from "./watch.ts";

/** `hideUsage`: the client did not ask for the usage chunk that the gateway asked the provider for. */
export function createWatch(dialect: DialectName, hideUsage: boolean): Watch {
  switch (dialect) {
    case "chat":
      return new ChatWatch(hideUsage);
    case "messages":
      return new MessagesWatch();
    case "responses":
      return new ResponsesWatch();
  }
}
