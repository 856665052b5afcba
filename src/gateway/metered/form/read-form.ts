import { invalidRequest } from "../../../base/errors.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import type { FormFields } from "../../../dialects/metered/route.ts";
import { FormParser } from "./form-parser.ts";
import { SpooledForm } from "./spooled-form.ts";

/** On disk, and more than any provider takes. What a key may send at once is limited by its rate and its places. */
const mostFormBytes = 1024 * 1024 * 1024;

/** Reads a form to its end. The caller disposes of it. */
export async function readForm(request: Request, boundary: string): Promise<SpooledForm> {
  const form = await SpooledForm.create();
  try {
    const parser = new FormParser(boundary, form);
    const reader = request.body?.getReader();
    let bytes = 0;
    for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read()) {
      bytes += next.value.length;
      if (bytes > mostFormBytes)
        throw invalidRequest(`The form is too large; at most ${mostFormBytes} bytes are accepted.`);
      await parser.push(next.value);
    }
    parser.end();
    await form.finish();
    return form;
  } catch (error) {
    await form[Symbol.asyncDispose]();
    throw error;
  }
}

/** The fields as JSON has them. */
export function bodyOfForm({ fields }: SpooledForm, { numbers }: FormFields): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typed(name, value, numbers)]),
  );
}

function typed(name: string, value: Json, numbers: readonly string[]): Json {
  if (name === "stream") return value === "true" || value === "True" || value === "1";
  return numbers.includes(name) && typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
}
