import type { ComponentChildren } from "preact";

/** A part of a page whose title has what can be done beside it. */
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
