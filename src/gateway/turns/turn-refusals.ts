import { invalidRequest } from "../../base/errors.ts";
import { count } from "../../base/text/plural.ts";
import type { Settings } from "../../config/settings.ts";

export function tooLong(what: string): Error {
  const advice = "Begin a new conversation, with what matters of this one in `input`.";
  return invalidRequest(`The conversation has ${what}. ${advice}`, "previous_response_id");
}

export function moreThanKept({ retention }: Settings): Error {
  const message = `The conversation would have more than the ${retention.responseBytesPerKey} bytes that are kept for a key. Begin a new one.`;
  return invalidRequest(message, "items");
}

export function tooManyReferenced(maxTurns: number): Error {
  const message = `\`input\` refers to items of more than ${count(maxTurns)} stored responses, the most that a request may read. Send the items themselves.`;
  return invalidRequest(message, "input");
}

/** Items are found in whole responses, and all of those would be in memory. */
export function tooMuchReferenced(maxBytes: number): Error {
  const message = `The responses that \`input\` refers to items of have more than the ${maxBytes} bytes that a request may have. Send the items themselves.`;
  return invalidRequest(message, "input");
}
