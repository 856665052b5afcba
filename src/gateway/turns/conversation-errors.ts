import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { count } from "../../base/text/plural.ts";
import type { Settings } from "../../config/settings.ts";

export function tooLong(what: string): Error {
  const advice = "Start a new conversation, and send a summary of this one in `input`.";
  return invalidRequest(`The conversation has ${what}. ${advice}`, "previous_response_id");
}

export function moreThanKept({ retention }: Settings): Error {
  const message = `The conversation would exceed this key's ${retention.responseBytesPerKey} bytes of storage. Start a new one.`;
  return invalidRequest(message, "items");
}

export function tooManyReferenced(maxTurns: number): Error {
  const message = `\`input\` refers to items of more than ${count(maxTurns)} stored responses, the maximum per request. Send the items themselves.`;
  return invalidRequest(message, "input");
}

/** Items are found by reading whole responses, which would all be in memory. */
export function tooMuchReferenced(maxBytes: number): Error {
  const message = `\`input\` refers to stored responses of more than ${maxBytes} bytes, the maximum per request. Send the items themselves.`;
  return invalidRequest(message, "input");
}

/** One error for a conversation that is another key's, deleted, expired or unknown. */
export function noSuchConversation(id: string): GatewayError {
  const message = `Conversation with id '${id.slice(0, 200)}' not found.`;
  return new GatewayError("not_found", message, { param: "conversation" });
}
