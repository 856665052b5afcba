import { textAt, valueAt } from "./json.ts";

/** A refusal, or what a stream was broken off with. */
export interface CallError {
  readonly code: string;
  readonly message: string;
}

/** In the form of either dialect: a body, or an event of a stream. Null if it is neither. */
export function errorIn(body: unknown): CallError | null {
  const error = valueAt(body, "error") ?? valueAt(body, "response.error");
  const message = textAt(error, "message");
  if (message === "") return null;
  return { code: textAt(error, "code") || textAt(error, "type") || "error", message };
}

/** What to do about refusals that no exchange is kept of, and so no explanation either. */
const adviceByCode: Readonly<Record<string, string>> = {
  invalid_credentials: "Check the key, or make a new one on the Keys page; a rotated key has another secret.",
  invalid_request: "Change what the message names. Other models may take what this one does not.",
  unreachable: "Is the gateway still running? The System page says how it is doing.",
};

export function adviceFor({ code }: CallError): string | null {
  return adviceByCode[code] ?? null;
}
