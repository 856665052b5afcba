import { Kind, type TUnsafe, Type, TypeRegistry } from "@sinclair/typebox";
import { expectedText } from "../../base/text/schema-text.ts";
import { type Duration, durationPattern, durationText, parseDuration } from "../duration.ts";
import { unit, type WithDefault } from "./marks.ts";

const kind = "Duration";

/** Bounds in seconds, as in JSON Schema. */
interface Bounds {
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum: number;
}

const aDay: Bounds = { minimum: 0, maximum: 86_400 };

TypeRegistry.Set<{ readonly anyOf: readonly [Bounds] }>(kind, ({ anyOf: [bounds] }, value) => {
  if (typeof value !== "number" && typeof value !== "string") return false;
  const ms = parseDuration(value);
  return ms !== null && isWithin(ms / 1000, bounds);
});

function isWithin(seconds: number, { minimum = 0, exclusiveMinimum = -1, maximum }: Bounds): boolean {
  return seconds >= minimum && seconds > exclusiveMinimum && seconds <= maximum;
}

/** The bounds apply to strings too. JSON Schema cannot express that, so a custom kind checks it. */
export function duration<const Fallback extends Duration | undefined = undefined>(
  description: string,
  fallback?: Fallback,
  bounds: Bounds = aDay,
) {
  const schema = Type.Unsafe<Duration>({
    [Kind]: kind,
    [unit]: "ms",
    description,
    anyOf: [
      { type: "number", ...bounds },
      { type: "string", pattern: durationPattern },
    ],
    [expectedText]: `a number of seconds, or a duration such as "90s", "5m" or "1h", ${boundsText(bounds)}`,
    ...(fallback === undefined ? {} : { default: fallback }),
  });
  // The cast holds because the unit and the default are written above.
  return schema as TUnsafe<Duration> & { readonly [unit]: "ms" } & WithDefault<Fallback>;
}

function boundsText({ minimum = 0, exclusiveMinimum, maximum }: Bounds): string {
  const minimumText = exclusiveMinimum === undefined ? `from ${minimum}s` : `above ${exclusiveMinimum}s`;
  return `${minimumText} to ${durationText(maximum * 1000)}`;
}
