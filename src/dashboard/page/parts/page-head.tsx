import type { ComponentChildren } from "preact";

export function PageHead({
  title,
  about,
  children,
}: {
  title: ComponentChildren;
  about?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <header class="page-head">
      <div>
        <h1>{title}</h1>
        {about !== undefined && <p class="muted">{about}</p>}
      </div>
      <div class="actions">{children}</div>
    </header>
  );
}
