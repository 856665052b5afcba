import { FormatRegistry, KindGuard, type TObject, type TSchema } from "@sinclair/typebox";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { Value } from "@sinclair/typebox/value";
import { type DescribedSchema, expectation } from "../../base/text/schema-text.ts";
import { sentence } from "../../base/text/sentence.ts";
import { wholeFromDigits } from "../../base/text/typed-number.ts";
import { didYouMean } from "../../config/suggest.ts";
import { readBody } from "../../gateway/request/read-request.ts";
import { AdminError } from "../formats/admin-error.ts";
import { isoMs } from "../moments.ts";

FormatRegistry.Set("date-time", (text) => /^\d{4}-\d\d-\d\d/.test(text) && isoMs(text) !== null);

/** Longer values are not quoted in an error. */
const maxShownLength = 40;
const defaultMaxBytes = 65_536;

function checked(schema: TSchema, value: unknown): unknown {
  // Not compiled: that takes up to 6 ms once, and a check less than a tenth of one.
  if (Value.Check(schema, value)) return value;
  const first = Value.Errors(schema, value).First();
  const param = (first?.path ?? "").slice(1).replaceAll("/", ".");
  const about = param === "" ? "The body" : `\`${param}\``;
  const message = first === undefined ? "is invalid" : problemWith(first);
  throw new AdminError(400, "invalid_request", sentence(`${about} ${message}`), { param });
}

function problemWith({ type, schema, value, path }: ValueError): string {
  // TypeBox returns the schema that failed; here it is only used for the description.
  const described = schema as DescribedSchema & { readonly properties?: object };
  switch (type) {
    case ValueErrorType.ObjectAdditionalProperties: {
      const name = path.slice(path.lastIndexOf("/") + 1);
      return `is not a known field${didYouMean(name, Object.keys(described.properties ?? {}))}`;
    }
    case ValueErrorType.ObjectRequiredProperty:
      return `is missing; it must be ${expectation(described)}`;
    default: {
      // Strings are quoted only where no string is valid, because a sign-in token is a string.
      const isShown =
        typeof value === "number" ||
        (typeof value === "string" && described.type !== "string" && value.length <= maxShownLength);
      // The configuration's word for an object is a table.
      const expected = described.type === "object" ? "an object" : expectation(described);
      return `must be ${expected}${isShown ? `, not ${JSON.stringify(value)}` : ""}`;
    }
  }
}

/** Everything in a query is text; numbers are converted before the check. The URL's host may be missing or invalid. */
export function checkedQuery(schema: TObject | undefined, url: string): unknown {
  if (schema === undefined) return {};
  const start = url.indexOf("?");
  const query = new URLSearchParams(start === -1 ? "" : url.slice(start));
  const values = [...query].flatMap(([name, text]) => {
    const fieldSchema = text === "" ? undefined : schema.properties[name];
    return fieldSchema === undefined ? [] : [[name, convertValue(fieldSchema, text)] as const];
  });
  return checked(schema, Value.Default(schema, Object.fromEntries(values)));
}

/** A value that is not a number stays text, and is rejected by the check. */
function convertValue(schema: TSchema, text: string): string | number {
  if (KindGuard.IsNumber(schema)) return /^\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : text;
  return KindGuard.IsInteger(schema) ? (wholeFromDigits(text) ?? text) : text;
}

/** Rejects a body longer than `maxBytes`. */
export async function bodyBytes(request: Request, maxBytes = defaultMaxBytes): Promise<Uint8Array> {
  return readBody(request, {
    maxBytes,
    tooLarge: () =>
      new AdminError(413, "too_large", `The body is too large. The limit is ${maxBytes} bytes.`),
    take: () => {},
  });
}

export function checkedBytes(schema: TSchema, bytes: Uint8Array): unknown {
  return checked(schema, Value.Default(schema, parsed(bytes)));
}

export async function checkedBody(
  schema: TSchema | undefined,
  request: Request,
  maxBytes?: number,
): Promise<unknown> {
  return schema === undefined ? null : checkedBytes(schema, await bodyBytes(request, maxBytes));
}

function parsed(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return {};
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new AdminError(400, "invalid_request", "The body is not JSON.");
  }
}
