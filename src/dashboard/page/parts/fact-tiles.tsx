import type { ComponentChildren } from "preact";

/** A name, its value, and a word about it. */
export type Fact = readonly [name: string, value: ComponentChildren, note?: ComponentChildren];

/** Characters that a tile has room for. */
const longest = 9;

export function FactTiles({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="tiles card">
      {facts.map(([name, value, note]) => (
        <div class="tile" key={name}>
          <dt>{name}</dt>
          <dd class={typeof value === "string" && value.length > longest ? "long" : undefined}>{value}</dd>
          <dd class="muted">{note}</dd>
        </div>
      ))}
    </dl>
  );
}
