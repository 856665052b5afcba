import type { ComponentChildren } from "preact";

export function PageHead(props: { title: string; about?: ComponentChildren; children?: ComponentChildren }) {
  return (
    <header class="page-head line">
      <div>
        <h1>{props.title}</h1>
        {props.about !== undefined && <p class="muted">{props.about}</p>}
      </div>
      <div class="line">{props.children}</div>
    </header>
  );
}
