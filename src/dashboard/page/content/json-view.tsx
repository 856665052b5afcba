import type { Json } from "../../../base/json.ts";
import { jsonLines } from "./json-lines.ts";

/** More lines than this take too long to render; the copy has all of them. */
const maxLines = 5000;

export function JsonView({ value, dropped = [] }: { value: Json; dropped?: readonly string[] }) {
  const lines = typeof value === "string" ? [{ text: value, isDropped: false }] : jsonLines(value, dropped);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <pre class="well json" tabIndex={0}>
      {lines.slice(0, maxLines).map(({ text, isDropped }, place) =>
        isDropped ? (
          <del key={place} title="Not sent to the provider">
            {text}
            {"\n"}
          </del>
        ) : (
          `${text}\n`
        ),
      )}
      {lines.length > maxLines && `… ${lines.length - maxLines} more lines`}
    </pre>
  );
}
