import { textAt, valueAt } from "./json.ts";

/** A rejected request, or the error that ended a stream. */
export interface CallError {
  readonly code: string;
  readonly message: string;
}

/** Reads an error of either dialect, from a body or a stream event. Null if there is none. */
export function errorIn(body: unknown): CallError | null {
  const error = valueAt(body, "error") ?? valueAt(body, "response.error");
  const message = textAt(error, "message");
  if (message === "") return null;
  const code = textAt(error, "code") || textAt(error, "type") || googleCode(error) || "error";
  return { code, message };
}

/** Google's errors have the code in upper case. */
function googleCode(error: unknown): string {
  return textAt(error, "details.0.reason").toLowerCase();
}

/** Advice for errors of requests that are not logged, and so have no explanation. */
const adviceByCode: Readonly<Record<string, string>> = {
  invalid_credentials:
    "Check the key, or create a new one on the Keys page. Rotating a key changes its secret.",
  invalid_request: "Change the field that the message names, or try another model.",
  unreachable: "Is the gateway still running? Check the System page.",
};

export function adviceFor({ code }: CallError): string | null {
  return adviceByCode[code] ?? null;
}
