import { Kind, type TOptional, type TUnsafe, Type, TypeRegistry } from "@sinclair/typebox";
import { expectedText } from "../../base/text/schema-text.ts";
import { type ByteSize, byteSizePattern, bytesOfSize } from "../byte-size.ts";
import { unit } from "./marks.ts";

const kind = "ByteSize";

interface Limits {
  readonly minimum: number;
  readonly maximum: number;
}

TypeRegistry.Set<{ readonly anyOf: readonly [Limits] }>(kind, ({ anyOf: [{ minimum, maximum }] }, value) => {
  if (typeof value !== "number" && typeof value !== "string") return false;
  const bytes = bytesOfSize(value);
  return bytes !== null && bytes >= minimum && bytes <= maximum;
});

/** A number of bytes, or a string with a unit. The limits apply to strings too, which JSON Schema cannot express. */
export function byteSize(
  description: string,
  fallback: ByteSize,
  minimum: number,
  maximum: number = Number.MAX_SAFE_INTEGER,
) {
  const most = maximum === Number.MAX_SAFE_INTEGER ? "" : ` and at most ${maximum}`;
  const schema = Type.Unsafe<ByteSize>({
    [Kind]: kind,
    [unit]: "bytes",
    description,
    anyOf: [
      { type: "integer", minimum, maximum },
      { type: "string", pattern: byteSizePattern },
    ],
    [expectedText]: `a number of bytes, or a size such as "500KB", "1MB" or "2GB", at least ${minimum} bytes${most}`,
    default: fallback,
  });
  // The cast holds because the unit and the default are written above.
  return Type.Optional(schema) as TOptional<TUnsafe<ByteSize>> & {
    readonly [unit]: "bytes";
    readonly default: ByteSize;
  };
}
