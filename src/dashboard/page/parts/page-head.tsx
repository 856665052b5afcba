import type { ComponentChildren } from "preact";

export function PageHead(props: { title: string; about?: ComponentChildren; children?: ComponentChildren }) {
  return (
    <header class="page-head">
      <div>
        <h1>{props.title}</h1>
        {props.about !== undefined && <p class="muted">{props.about}</p>}
      </div>
      <div class="actions">{props.children}</div>
    </header>
  );
}
