import type { ComponentChildren } from "preact";

/** A section of a page, with its actions next to the title. */
export function Card(props: { title: string; actions?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="card flush">
      <header class="card-head line">
        <h2>{props.title}</h2>
        <div class="line">{props.actions}</div>
      </header>
      {props.children}
    </section>
  );
}
