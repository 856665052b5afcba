import { GatewayError, invalidRequest } from "../../../base/errors.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import type { FormFields } from "../../../dialects/metered/route.ts";
import type { BodyReservation } from "../../../limits/body-budget.ts";
import type { Exchange } from "../../exchange/exchange.ts";
import { takePieces } from "../../request/read-request.ts";
import { FormParser } from "./form-parser.ts";
import { SpooledForm } from "./spooled-form.ts";

/** Larger than any provider accepts. */
export const maxFormBytes = 1024 * 1024 * 1024;

/** Reads a form to its end, unless its exchange ends before, and keeps its reservation of disk. The caller disposes of it. */
export async function readForm(
  { call: { request }, signal }: Exchange,
  boundary: string,
  reservation: BodyReservation,
): Promise<SpooledForm> {
  const form = await SpooledForm.create(reservation);
  try {
    const parser = new FormParser(boundary, form);
    let bytes = 0;
    await takePieces(request, signal, async (piece) => {
      bytes += piece.length;
      if (bytes > maxFormBytes)
        throw invalidRequest(`The form is too large: the maximum is ${maxFormBytes} bytes.`);
      if (!reservation.grow(piece.length)) throw noRoom();
      await parser.push(piece);
    });
    parser.end();
    await form.finish();
    return form;
  } catch (error) {
    await form[Symbol.asyncDispose]();
    throw error;
  }
}

function noRoom(): GatewayError {
  return new GatewayError(
    "service_unavailable",
    "The gateway is out of upload space. Retry in a few seconds.",
  );
}

/** The fields as JSON. Objects and lists arrive as text and are parsed, unless the route declares the field as text. */
export function bodyOfForm({ fields }: SpooledForm, { numbers, texts }: FormFields): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      texts.includes(name) ? value : parsed(typed(name, value, numbers)),
    ]),
  );
}

/** A form has few objects, and small ones. */
const maxParsedChars = 64 * 1024;

function parsed(value: Json): Json {
  if (Array.isArray(value)) return value.map(parsed);
  if (typeof value !== "string" || value.length > maxParsedChars || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

const flags: ReadonlyMap<Json, boolean> = new Map([
  ...["true", "True", "1"].map((word) => [word, true] as const),
  ...["false", "False", "0", ""].map((word) => [word, false] as const),
]);

/** A value of `stream` that is not a boolean stays unchanged and is rejected later: a provider might read it as one. */
function typed(name: string, value: Json, numbers: readonly string[]): Json {
  if (name === "stream") return flags.get(value) ?? value;
  if (typeof value !== "string") return value;
  return numbers.includes(name) && /^\d+$/.test(value) ? Number(value) : value;
}
