import type { ComponentChildren } from "preact";

interface CardProps {
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of a page whose title has what can be done beside it. */
export function Card({ title, actions, children }: CardProps) {
  return (
    <section class="card flush">
      <header class="card-head">
        <h2>{title}</h2>
        <div class="actions">{actions}</div>
      </header>
      {children}
    </section>
  );
}
