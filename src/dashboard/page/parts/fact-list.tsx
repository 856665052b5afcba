import type { ComponentChildren } from "preact";

export type NamedFact = readonly [name: string, value: ComponentChildren, kind?: "number"];

export function FactList({ facts, class: name }: { facts: readonly NamedFact[]; class?: string }) {
  return (
    <dl class={name}>
      {facts.map(([title, value, kind]) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd class={kind}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
