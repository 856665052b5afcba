import type { GatewayError } from "../../base/errors.ts";
import type { TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import type { SentPaths } from "../exchange/exchange.ts";
import type { Conversation } from "../turns/compacting.ts";

const inputPath = /\binput\[(\d+)\]([\w.[\]]*)/g;

/** `added` is what the request adds to the conversation; what was stored before that is in the response that the request names. */
export function sentPaths(
  sent: readonly TurnItem[],
  added: readonly TurnItem[],
  { stored, naming }: Conversation,
): SentPaths {
  return (text) =>
    text.replace(inputPath, (_, place: string, member: string) => {
      const item = added[Number(place) - stored];
      // The stored item replaced a reference with the same id.
      const own = sent.findIndex(({ raw, type, id }) =>
        type === "item_reference" ? id === item?.id : raw === item?.raw,
      );
      return own === -1 ? naming : `input[${own}]${member}`;
    });
}

/** The error as a client can read it. */
export function namedAsSent(error: GatewayError, paths: SentPaths | null): GatewayError {
  const { message, param } = error;
  return paths === null ? error : error.reworded(paths(message), param && paths(param));
}
